//! Strings in, out, returned and allocated by the library.

use toolmux_dylib_host::fault::CallFault;
use toolmux_dylib_host::hello::Profile;
use toolmux_dylib_host::limits::WorkerLimits;
use toolmux_dylib_host::plan::{CFunction, CReturn, Direction, Length, Pass, Plan, Size};
use toolmux_dylib_host::scalar::Scalar;

use crate::plans::{A_INT, INT, Values, function, hello, plan, pointee, string, text, text_in};
use crate::worker::{Reply, Worker};

fn start(functions: Vec<CFunction>) -> Worker {
    Worker::start(&hello(plan(functions), Profile::Pure))
}

#[test]
fn a_returned_string_ends_at_its_nul_and_null_stays_null() {
    let mut worker =
        start(["hello", "ret_null", "bad_utf8"].map(|of| function(of, &[], string(None))).into());
    assert_eq!(worker.result(0, &Values::none()), Values::none().bytes(b"hello").0);
    assert_eq!(worker.result(1, &Values::none()), Values::none().null().0);
    assert_eq!(worker.result(2, &Values::none()), Values::none().bytes(b"a\xff\xfe").0);
}

#[test]
fn an_omitted_string_is_null_to_c() {
    let mut worker = start(vec![function("is_null", &[("s", text_in())], INT)]);
    assert_eq!(worker.result(0, &Values::none().null()), Values::none().int(1).0);
    assert_eq!(worker.result(0, &Values::none().bytes(b"")), Values::none().int(0).0);
}

#[test]
fn a_string_of_the_library_is_copied_and_then_given_back() {
    let mut worker = start(vec![
        function("heap_str", &[("s", text_in())], string(Some("heap_free"))),
        function("free_count", &[], INT),
    ]);
    assert_eq!(worker.result(0, &Values::none().bytes(b"abc")), Values::none().bytes(b"<abc>").0);
    assert_eq!(worker.result(1, &Values::none()), Values::none().int(1).0);
}

#[test]
fn a_string_behind_an_out_parameter_is_copied_and_freed() {
    let out = Pass::Indirect(pointee(Scalar::Char, None, Length::Nul, Some("free")));
    let mut worker = start(vec![function("give_str", &[A_INT, ("out", out)], INT)]);
    assert_eq!(worker.result(0, &Values::none().int(12)), Values::none().int(9).bytes(b"number 12").0);
    assert_eq!(worker.result(0, &Values::none().int(-1)), Values::none().int(-1).null().0);
}

#[test]
fn a_string_without_end_is_too_long_and_the_worker_goes_on() {
    let unterminated = function("unterminated", &[], string(None));
    let sized = CReturn::Pointer(pointee(Scalar::Char, Some(Size::Fixed(5)), Length::Nul, None));
    let mut worker = start(vec![unterminated, function("unterminated", &[], sized)]);
    let text = "the return value has no end within 1048576 bytes".to_owned();
    assert_eq!(worker.call(0, &Values::none()), Reply::Failed(CallFault::TooLong, text));
    assert_eq!(worker.result(1, &Values::none()), Values::none().bytes(b"xxxxx").0);
}

#[test]
fn the_limit_of_a_string_is_the_last_length_that_passes() {
    let functions = vec![function("heap_str", &[("s", text_in())], string(Some("heap_free")))];
    let limits = WorkerLimits { text: 6, ..WorkerLimits::default() };
    let mut worker = Worker::start(&hello(Plan { limits, ..plan(functions) }, Profile::Pure));
    assert_eq!(worker.result(0, &Values::none().bytes(b"abcd")), Values::none().bytes(b"<abcd>").0);
    let longer = worker.call(0, &Values::none().bytes(b"abcde"));
    assert!(matches!(longer, Reply::Failed(CallFault::TooLong, _)), "{longer:?}");
}

#[test]
fn a_string_is_edited_in_place() {
    let mut worker = start(vec![
        function("shout", &[("text", text(Direction::InOut, None))], INT),
        function(
            "append",
            &[("text", text(Direction::InOut, Some(Size::Fixed(8)))), ("more", text_in())],
            CReturn::Void,
        ),
    ]);
    assert_eq!(worker.result(0, &Values::none().bytes(b"abc")), Values::none().int(3).bytes(b"ABC").0);
    assert_eq!(worker.result(0, &Values::none().bytes(b"")), Values::none().int(0).bytes(b"").0);
    let appended = worker.result(1, &Values::none().bytes(b"abc").bytes(b"defg"));
    assert_eq!(appended, Values::none().bytes(b"abcdefg").0);
    let text = "`text` has room for 8 elements, its content needs 9".to_owned();
    let refused = worker.call(1, &Values::none().bytes(b"abcdefgh").bytes(b""));
    assert_eq!(refused, Reply::Failed(CallFault::OutOfRange, text));
}
