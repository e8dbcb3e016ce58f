//! Buffers: sizes, lengths, and libraries that go beyond them or lie about them.

use toolmux_dylib_host::fault::CallFault;
use toolmux_dylib_host::frame::Crash;
use toolmux_dylib_host::hello::Profile;
use toolmux_dylib_host::limits::WorkerLimits;
use toolmux_dylib_host::plan::{By, CFunction, CReturn, Direction, Length, Measure, Pass, Plan, Size};
use toolmux_dylib_host::scalar::Scalar::{Char, Int, Long, UnsignedChar, UnsignedLong};

use crate::plans::{
    A_INT, INT, Values, buffer, function, hello, input, length, output, plan, pointee, size_from, size_of,
    text_in,
};
use crate::worker::{Reply, Worker};

fn start(function: CFunction) -> Worker {
    Worker::start(&hello(plan(vec![function]), Profile::Pure))
}

fn greet() -> CFunction {
    let name = ("name", text_in());
    let buf = ("buf", output(Char, 10, Length::Nul));
    function("greet", &[name, buf, ("cap", length(1, UnsignedLong, By::Value))], INT)
}

#[track_caller]
fn check_refused(function: CFunction, values: &Values, fault: CallFault, text: &str) {
    let mut worker = start(function);
    assert_eq!(worker.call(0, values), Reply::Failed(fault, text.to_owned()));
    if fault.ends_worker() {
        assert_eq!(worker.wait_for_code(), Some(71));
    }
}

#[test]
fn an_output_ends_at_its_nul_whatever_length_was_wanted() {
    let mut worker = start(greet());
    assert_eq!(worker.result(0, &Values::none().bytes(b"X")), Values::none().int(9).bytes(b"Hello, X!").0);
    let cut = worker.result(0, &Values::none().bytes(b"Xavier"));
    assert_eq!(cut, Values::none().int(14).bytes(b"Hello, Xa").0);
}

#[test]
fn a_length_behind_a_pointer_starts_as_capacity_and_says_what_was_filled() {
    let out = ("out", output(UnsignedChar, 7, Length::Parameter(1)));
    let len = ("len", length(0, UnsignedLong, By::Pointer));
    let mut worker = start(function("fill", &[out, len], CReturn::Value(UnsignedLong)));
    let expected = Values::none().int(7).bytes(b"abc").bytes(&3_u64.to_le_bytes());
    assert_eq!(worker.result(0, &Values::none()), expected.0);
}

#[test]
fn a_size_may_be_what_an_in_out_integer_points_to() {
    let out = ("out", buffer(UnsignedChar, Direction::Out, Some(size_from(1)), Length::Parameter(1)));
    let len = ("len", buffer(UnsignedLong, Direction::InOut, Some(Size::Fixed(1)), Length::All));
    let mut worker = start(function("fill", &[out, len], CReturn::Value(UnsignedLong)));
    let expected = Values::none().int(5).bytes(b"abc").bytes(&3_u64.to_le_bytes());
    assert_eq!(worker.result(0, &Values::none().bytes(&5_u64.to_le_bytes())), expected.0);
}

#[test]
fn a_returned_array_is_as_long_as_its_parameter_says() {
    let n = ("n", output(Int, 1, Length::All));
    let returned = |size| CReturn::Pointer(pointee(Int, size, Length::Parameter(0), None));
    let mut worker = start(function("ret_arr", std::slice::from_ref(&n), returned(None)));
    let expected = Values::none().ints(&[1, -2, 3, -4, 5]).ints(&[5]);
    assert_eq!(worker.result(0, &Values::none()), expected.0);
    let lie = "the return value holds 4 elements, the library reported 5";
    let function = function("ret_arr", &[n], returned(Some(Size::Fixed(4))));
    check_refused(function, &Values::none(), CallFault::BadLength, lie);
}

#[test]
fn a_returned_pointer_to_one_number_is_one_number() {
    let one = CReturn::Pointer(pointee(Int, Some(Size::Fixed(1)), Length::All, None));
    let mut worker = start(function("ret_intp", &[], one));
    assert_eq!(worker.result(0, &Values::none()), Values::none().ints(&[42]).0);
}

#[test]
fn a_reported_length_above_the_capacity_is_a_lie_and_ends_the_worker() {
    let function = function("lie_len", &[("buf", output(Char, 8, Length::Return))], INT);
    let lie = "`buf` holds 8 elements, the library reported 8000";
    check_refused(function, &Values::none(), CallFault::BadLength, lie);
}

#[test]
fn a_reported_length_below_zero_is_empty() {
    let mut worker = start(function("negative_len", &[("buf", output(Char, 8, Length::Return))], INT));
    assert_eq!(worker.result(0, &Values::none()), Values::none().int(-5).bytes(b"").0);
}

#[test]
fn a_write_past_a_buffer_crashes_and_names_it() {
    let buf = ("buf", output(Char, 24, Length::All));
    let parameters = [buf, ("cap", length(0, UnsignedLong, By::Value))];
    let mut worker = start(function("overflow", &parameters, CReturn::Void));
    let reply = worker.call(0, &Values::none());
    let Reply::Crashed(Crash { signal: 11, address, parameter: Some(0) }) = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(address % 4096, 0, "the first byte of the guard");
    assert_eq!(worker.wait_for_signal(), Some(libc::SIGSEGV));
}

#[test]
fn a_read_past_an_input_crashes_and_names_it() {
    let parameters = [("in", input(Int)), ("n", Pass::Value(Int))];
    let mut worker = start(function("sum_int", &parameters, CReturn::Value(UnsignedLong)));
    let values = Values::none().ints(&[1, 2]);
    assert_eq!(worker.result(0, &values.clone().int(2)), Values::none().int(3).0);
    let reply = worker.call(0, &values.int(3));
    assert!(matches!(reply, Reply::Crashed(Crash { signal: 11, parameter: Some(0), .. })), "{reply:?}");
}

#[test]
fn a_write_in_front_of_a_buffer_is_noticed_and_ends_the_worker() {
    let function = function("underflow", &[("buf", output(Char, 24, Length::All))], CReturn::Void);
    let text = "`buf` was written in front of its start";
    check_refused(function, &Values::none(), CallFault::MemorySmashed, text);
}

#[test]
fn an_input_of_fixed_size_has_exactly_that_many_elements() {
    let two = buffer(Int, Direction::In, Some(Size::Fixed(2)), Length::All);
    let function = function("sum_int", &[("in", two), ("n", Pass::Value(Int))], CReturn::Value(UnsignedLong));
    let text = "`in` must have exactly 2 elements, it has 3";
    check_refused(function, &Values::none().ints(&[1, 2, 3]).int(2), CallFault::OutOfRange, text);
}

#[test]
fn a_size_is_computed_from_a_value_or_a_count() {
    let size = Some(Size::Of { measure: Measure::Value(1), times: 1.5, plus: 2 });
    let out = buffer(Char, Direction::Out, size, Length::All);
    let mut worker = start(function("out_char", &[("x", out), ("v", Pass::Value(Char))], CReturn::Void));
    let mut expected = [0; 7];
    expected[0] = 3;
    assert_eq!(worker.result(0, &Values::none().int(3)), Values::none().bytes(&expected).0);
    let text = "`x` cannot have -2 elements".to_owned();
    assert_eq!(worker.call(0, &Values::none().int(-3)), Reply::Failed(CallFault::OutOfRange, text));
    assert_eq!(worker.result(0, &Values::none().int(3)), Values::none().bytes(&expected).0);
}

#[test]
fn outputs_over_the_limit_are_refused_before_the_call() {
    let parameters = [("x", buffer(Char, Direction::Out, Some(size_from(1)), Length::All)), A_INT];
    let limits = WorkerLimits { outputs: 1000, ..WorkerLimits::default() };
    let plan = Plan { limits, ..plan(vec![function("out_char", &parameters, CReturn::Void)]) };
    let mut worker = Worker::start(&hello(plan, Profile::Pure));
    assert!(matches!(worker.call(0, &Values::none().int(1000)), Reply::Values(_)));
    let text = "`x` makes the outputs larger than 1000 bytes".to_owned();
    assert_eq!(worker.call(0, &Values::none().int(1001)), Reply::Failed(CallFault::OutOfRange, text));
}

#[test]
fn a_count_that_its_type_cannot_say_is_refused() {
    let n = ("n", length(0, UnsignedChar, By::Value));
    let function = function("sum_char", &[("in", input(Char)), n], CReturn::Value(Long));
    let text = "`in` has 256 elements, more than the type of `n` can say";
    check_refused(function, &Values::none().bytes(&[1; 256]), CallFault::OutOfRange, text);
}

#[test]
fn large_buffers_come_and_go() {
    let parameters = [
        ("in", input(Int)),
        ("n", length(0, Int, By::Value)),
        ("out", buffer(Int, Direction::Out, Some(size_of(0)), Length::All)),
    ];
    let mut worker = start(function("dbl_int", &parameters, CReturn::Void));
    for count in [4 << 20, 1, 100_000] {
        let reply = worker.result(0, &Values::none().ints(&vec![3; count]));
        assert_eq!(reply, Values::none().ints(&vec![6; count]).0);
    }
}
