//! Libraries that every system has.

use toolmux_dylib_host::hello::{Profile, Readiness};
use toolmux_dylib_host::plan::{By, Direction, Function, Length, Pass, Plan, Return};
use toolmux_dylib_host::scalar::Scalar::{Char, Double, Int, Long, UnsignedLong};

use crate::plans::{
    INT, Values, buffer, function, hello, input, length, output, plan, size_from, size_of, string, text_in,
};
use crate::worker::Worker;

fn start(library: &str, functions: Vec<Function>) -> Worker {
    let mut worker = Worker::spawn();
    let ready = worker.greet(&hello(Plan { library: library.to_owned(), ..plan(functions) }, Profile::Pure));
    assert!(ready.functions.iter().all(|function| *function == Readiness::Callable), "{ready:?}");
    worker
}

#[test]
fn libm_computes() {
    let x = || ("x", Pass::Value(Double));
    let double = Return::Value(Double);
    let mut worker = start(
        "libm.so.6",
        vec![
            function("pow", &[x(), x()], double.clone()),
            // Chosen by the processor at load time: the symbol leads to a resolver, not to the code.
            function("sin", &[x()], double.clone()),
            function("frexp", &[x(), ("exp", output(Int, 1, Length::All))], double.clone()),
            function("lround", &[x()], Return::Value(UnsignedLong)),
            Function { errno: true, ..function("log", &[x()], double) },
        ],
    );
    let of = |value: f64| Values::none().double(value);
    assert_eq!(worker.result(0, &of(2.0).double(10.0)), of(1024.0).0);
    assert_eq!(worker.result(1, &of(0.0)), of(0.0).0);
    assert_eq!(worker.result(2, &of(48.0)), of(0.75).ints(&[6]).0);
    assert_eq!(worker.result(3, &of(-2.5)), Values::none().int(-3).0);
    assert_eq!(worker.result(4, &of(0.0)), of(f64::NEG_INFINITY).errno(libc::ERANGE).0);
}

#[test]
fn libc_works_on_text() {
    let text = ("s", text_in());
    let format = Function {
        fixed_parameters: Some(3),
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
            function("strlen", std::slice::from_ref(&text), Return::Value(UnsignedLong)),
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
        Return::Void,
    );
    let mut worker = start("libc.so.6", vec![swab]);
    assert_eq!(worker.result(0, &Values::none().bytes(b"abcd")), Values::none().bytes(b"badc").0);
}
