//! Libraries that leave, close what is not theirs, or use the standard streams.

use toolmux_dylib_host::hello::Profile;
use toolmux_dylib_host::plan::{CFunction, CReturn};
use toolmux_dylib_host::scalar::Scalar;

use crate::plans::{A_INT, INT, Values, function, hello, plan, text_in};
use crate::worker::{Reply, Worker};

fn start(functions: Vec<CFunction>) -> Worker {
    Worker::start(&hello(plan(functions), Profile::Pure))
}

#[test]
fn exit_is_seen_as_the_end_of_the_pipe_and_a_status() {
    for (symbol, code) in [("do_exit", 3), ("do_exit", 0), ("do__exit", 0)] {
        let mut worker = start(vec![function(symbol, &[A_INT], CReturn::Void)]);
        assert_eq!(worker.call(0, &Values::none().int(code)), Reply::EndOfPipe);
        assert_eq!(worker.wait_for_code().map(i64::from), Some(code));
    }
}

#[test]
fn a_function_that_closes_every_descriptor_ends_its_worker() {
    let mut worker = start(vec![function("close_all", &[], CReturn::Void)]);
    assert_eq!(worker.call(0, &Values::none()), Reply::EndOfPipe);
    assert_eq!(worker.wait_for_code(), Some(70));
}

#[test]
fn printing_goes_to_standard_error_and_standard_input_is_empty() {
    let mut worker = start(vec![
        function("print_out", &[("s", text_in())], INT),
        function("read_stdin", &[], CReturn::Value(Scalar::Long)),
    ]);
    assert_eq!(worker.result(0, &Values::none().bytes(b"printed")), Values::none().int(7).0);
    assert_eq!(worker.result(1, &Values::none()), Values::none().int(0).0);
    worker.stop();
    assert_eq!(worker.stderr_to_end(), "printed");
}

#[test]
fn state_counts_on_and_begins_anew_in_a_new_worker() {
    for _ in 0..2 {
        let mut worker = start(vec![function("counter", &[], INT)]);
        for count in 1..=3 {
            assert_eq!(worker.result(0, &Values::none()), Values::none().int(count).0);
        }
    }
}

#[test]
fn stop_ends_the_worker_after_the_calls_sent_before() {
    let mut worker = start(vec![function("counter", &[], INT)]);
    let call = worker.begin(0, &Values::none());
    worker.stop();
    assert_eq!(worker.reply(call), Reply::Values(Values::none().int(1).0));
    assert_eq!(worker.reply(0), Reply::EndOfPipe);
    assert_eq!(worker.wait_for_code(), Some(0));
}

#[test]
fn sleeping_below_the_limit_succeeds() {
    let mut worker = start(vec![function("sleep_ms", &[A_INT], INT)]);
    assert_eq!(worker.result(0, &Values::none().int(5)), Values::none().int(0).0);
}
