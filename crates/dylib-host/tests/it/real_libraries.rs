//! Libraries that every system has, and three that most have: those tests say so when one is missing.

use toolmux_dylib_host::Library;
use toolmux_dylib_host::hello::{Profile, Readiness};
use toolmux_dylib_host::plan::{By, CFunction, CReturn, Direction, Length, Measure, Pass, Plan, Size};
use toolmux_dylib_host::scalar::Scalar::{Char, Double, Int, Long, UnsignedChar, UnsignedInt, UnsignedLong};
use toolmux_dylib_host::value::Reader;

use crate::plans::{
    INT, Values, buffer, function, hello, input, length, output, plan, pointee, size_from, size_of, string,
    text_in,
};
use crate::worker::Worker;

fn start(library: &str, functions: Vec<CFunction>) -> Worker {
    let mut worker = Worker::spawn();
    let ready = worker.greet(&hello(Plan { library: library.to_owned(), ..plan(functions) }, Profile::Pure));
    assert!(ready.functions.iter().all(|function| *function == Readiness::Callable), "{ready:?}");
    worker
}

/// A worker, unless this system lacks the library.
fn start_if_present(library: &str, functions: Vec<CFunction>) -> Option<Worker> {
    let plan = Plan { library: library.to_owned(), ..plan(Vec::new()) };
    match Library::open(&plan) {
        Ok(_) => Some(start(library, functions)),
        Err(error) => {
            println!("not tried: {error}");
            None
        }
    }
}

#[test]
fn libm_computes() {
    let x = || ("x", Pass::Value(Double));
    let double = CReturn::Value(Double);
    let mut worker = start(
        "libm.so.6",
        vec![
            function("pow", &[x(), x()], double.clone()),
            // Chosen by the processor at load time: the symbol leads to a resolver, not to the code.
            function("sin", &[x()], double.clone()),
            function("frexp", &[x(), ("exp", output(Int, 1, Length::All))], double.clone()),
            function("lround", &[x()], CReturn::Value(UnsignedLong)),
            CFunction { errno: true, ..function("log", &[x()], double) },
        ],
    );
    let of = |value: f64| Values::none().double(value);
    assert_eq!(worker.result(0, &of(2.0).double(10.0)), of(1024.0).0);
    assert_eq!(worker.result(1, &of(0.0)), of(0.0).0);
    assert_eq!(worker.result(2, &of(48.0)), of(0.75).ints(&[6]).0);
    assert_eq!(worker.result(3, &of(-2.5)), Values::none().int(-3).0);
    assert_eq!(worker.result(4, &of(0.0)), of(f64::NEG_INFINITY).errno(libc::ERANGE).null().0);
}

#[test]
fn libc_works_on_text() {
    let text = ("s", text_in());
    let format = CFunction {
        fixed_parameters: Some(3),
        explanation: None,
        ..function(
            "snprintf",
            &[
                ("buf", buffer(Char, Direction::Out, Some(size_from(1)), Length::Nul)),
                ("size", Pass::Value(UnsignedLong)),
                ("format", text_in()),
                ("a", Pass::Value(Int)),
                ("b", Pass::Value(Double)),
            ],
            INT,
        )
    };
    let mut worker = start(
        "libc.so.6",
        vec![
            function("strlen", std::slice::from_ref(&text), CReturn::Value(UnsignedLong)),
            function("strdup", &[text], string(Some("free"))),
            function("toupper", &[("c", Pass::Value(Int))], INT),
            format,
        ],
    );
    assert_eq!(worker.result(0, &Values::none().bytes("grün".as_bytes())), Values::none().int(5).0);
    assert_eq!(worker.result(1, &Values::none().bytes(b"abc")), Values::none().bytes(b"abc").0);
    assert_eq!(worker.result(2, &Values::none().int(97)), Values::none().int(65).0);
    let printed = worker.result(3, &Values::none().int(20).bytes(b"%d and %.2f").int(-7).double(0.5));
    assert_eq!(printed, Values::none().int(11).bytes(b"-7 and 0.50").0);
}

#[test]
fn libc_swaps_bytes_from_one_buffer_to_another() {
    let swab = function(
        "swab",
        &[
            ("from", input(Char)),
            ("to", buffer(Char, Direction::Out, Some(size_of(0)), Length::All)),
            ("n", length(0, Long, By::Value)),
        ],
        CReturn::Void,
    );
    let mut worker = start("libc.so.6", vec![swab]);
    assert_eq!(worker.result(0, &Values::none().bytes(b"abcd")), Values::none().bytes(b"badc").0);
}

#[test]
fn zlib_compresses_and_restores() {
    let out = |size| ("dest", buffer(UnsignedChar, Direction::Out, Some(size), Length::Parameter(1)));
    let bound = Size::Of { measure: Measure::Count(2), times: 1.1, plus: 64 };
    let coded = |symbol, size| {
        let parameters = [
            out(size),
            ("destLen", length(0, UnsignedLong, By::Pointer)),
            ("source", input(UnsignedChar)),
            ("sourceLen", length(2, UnsignedLong, By::Value)),
        ];
        function(symbol, &parameters, INT)
    };
    let seeded = [
        ("crc", Pass::Value(UnsignedLong)),
        ("buf", input(UnsignedChar)),
        ("len", length(1, UnsignedInt, By::Value)),
    ];
    let functions = vec![
        function("crc32", &seeded, CReturn::Value(UnsignedLong)),
        coded("compress", bound),
        coded("uncompress", Size::Fixed(1 << 16)),
    ];
    let Some(mut worker) = start_if_present("libz.so.1", functions) else { return };
    let crc = worker.result(0, &Values::none().int(0).bytes(b"123456789"));
    assert_eq!(crc, Values::none().word(0xcbf4_3926).0);
    let text = b"the same again and ".repeat(100);
    let compressed = worker.result(1, &Values::none().bytes(&text));
    let mut reader = Reader::new(&compressed);
    assert_eq!(reader.word(), Ok(0));
    let packed = reader.bytes().unwrap().unwrap().to_vec();
    assert!(packed.len() < 100, "{}", packed.len());
    let restored = worker.result(2, &Values::none().bytes(&packed));
    let expected = Values::none().int(0).bytes(&text).bytes(&(text.len() as u64).to_le_bytes());
    assert_eq!(restored, expected.0);
}

#[test]
fn sqlite_keeps_a_database_behind_a_handle() {
    let db = || ("db", Pass::Handle { tag: "db".to_owned(), closes: false });
    let null = |name| (name, input(UnsignedChar));
    let message = Pass::Indirect(pointee(Char, None, Length::Nul, Some("sqlite3_free")));
    let functions = vec![
        function(
            "sqlite3_open",
            &[("name", text_in()), ("db", Pass::NewHandle { tag: "db".to_owned() })],
            INT,
        ),
        function(
            "sqlite3_exec",
            &[db(), ("sql", text_in()), null("callback"), null("first"), ("error", message)],
            INT,
        ),
        function("sqlite3_total_changes", &[db()], INT),
        function("sqlite3_close", &[("db", Pass::Handle { tag: "db".to_owned(), closes: true })], INT),
    ];
    let Some(mut worker) = start_if_present("libsqlite3.so.0", functions) else { return };
    let opened = worker.result(0, &Values::none().bytes(b":memory:"));
    let db = 1 << 32 | 1;
    assert_eq!(opened, Values::none().int(0).word(db).0);
    let sql = |text: &str| Values::none().word(db).bytes(text.as_bytes()).null().null();
    let made = worker.result(1, &sql("create table t(x); insert into t values (1), (2)"));
    assert_eq!(made, Values::none().int(0).null().0);
    let wrong = worker.result(1, &sql("select nonsense"));
    assert_eq!(wrong, Values::none().int(1).bytes(b"no such column: nonsense").0);
    assert_eq!(worker.result(2, &Values::none().word(db)), Values::none().int(2).0);
    assert_eq!(worker.result(3, &Values::none().word(db)), Values::none().int(0).0);
}

#[test]
fn libcrypto_hashes_and_finds_random_bytes_in_the_purest_sandbox() {
    let hashed = [
        ("d", input(UnsignedChar)),
        ("n", length(0, UnsignedLong, By::Value)),
        ("md", output(UnsignedChar, 32, Length::All)),
    ];
    let random = [("buf", output(UnsignedChar, 16, Length::All)), ("num", length(0, Int, By::Value))];
    let functions = vec![function("SHA256", &hashed, CReturn::Void), function("RAND_bytes", &random, INT)];
    let Some(mut worker) = start_if_present("libcrypto.so.3", functions) else { return };
    let digest = worker.result(0, &Values::none().bytes(b"abc"));
    assert_eq!(digest[4..8], [0xba, 0x78, 0x16, 0xbf]);
    let random = worker.result(1, &Values::none());
    assert_eq!(random[..8], Values::none().int(1).0);
    assert_ne!(random[12..], [0; 16]);
}
