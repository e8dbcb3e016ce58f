//! Broken frames and payloads end or refuse; they never confuse a worker.

use toolmux_dylib_host::fault::CallFault;
use toolmux_dylib_host::frame::RequestFrame;
use toolmux_dylib_host::hello::Profile;
use toolmux_dylib_host::plan::{CReturn, Pass};
use toolmux_dylib_host::scalar::Scalar;

use crate::plans::{INT, Values, function, hello, input, passing, plan};
use crate::worker::{Reply, Worker};

#[track_caller]
fn check_broken(mut worker: Worker, bytes: &[u8], text: &str) {
    worker.send(bytes);
    assert_eq!(worker.reply(0), Reply::EndOfPipe);
    assert_eq!(worker.wait_for_code(), Some(70));
    let told = worker.stderr_to_end();
    assert!(told.contains(text), "{told}");
}

fn start() -> Worker {
    Worker::start(&hello(plan(passing()), Profile::Pure))
}

#[test]
fn a_broken_frame_ends_the_worker() {
    check_broken(start(), &[1, 0, 0, 0], "a frame of 1 bytes is not possible");
    check_broken(start(), &[8, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0], "a frame of kind 9 does not belong here");
    check_broken(Worker::spawn(), &[0xff; 64], "a frame of 4294967295 bytes is not possible");
}

#[test]
fn hello_comes_first_and_once() {
    let mut call = Vec::new();
    RequestFrame::Call { id: 1, function: 0, values: &[] }.encode(&mut call).unwrap();
    check_broken(Worker::spawn(), &call, "must be HELLO");
    let mut hello = Vec::new();
    RequestFrame::Hello { id: 0, json: b"{}" }.encode(&mut hello).unwrap();
    check_broken(start(), &hello, "must be HELLO");
    check_broken(Worker::spawn(), &hello, "missing field");
}

#[test]
fn a_payload_that_does_not_fit_the_plan_is_refused() {
    let mut functions = passing();
    functions.push(function("in_int", &[("x", input(Scalar::Int))], INT));
    functions.push(function("out_int", &[("x", Pass::Value(Scalar::Int))], CReturn::Void));
    let mut worker = Worker::start(&hello(plan(functions), Profile::Pure));
    let cases = [
        (0, Values::none().int(1), "the payload ends inside a value"),
        (0, Values::none().int(1).int(2).int(3), "8 bytes follow the last value"),
        (3, Values::none().bytes(&[1, 2, 3]), "`x` ends inside an element"),
        (3, Values(vec![200, 0, 0, 0, 1]), "the payload ends inside a value"),
    ];
    for (function, values, text) in cases {
        assert_eq!(worker.call(function, &values), Reply::Failed(CallFault::Malformed, text.to_owned()));
    }
    let unknown = worker.call(99, &Values::none());
    assert!(matches!(unknown, Reply::Failed(CallFault::UnknownFunction, _)), "{unknown:?}");
    assert_eq!(worker.result(0, &Values::none().int(1).int(2)), Values::none().int(3).0);
}

#[test]
fn frames_arrive_in_any_pieces() {
    let mut worker = start();
    let mut bytes = Vec::new();
    for id in 1..=3 {
        let values = Values::none().int(i64::from(id)).int(10).0;
        RequestFrame::Call { id, function: 0, values: &values }.encode(&mut bytes).unwrap();
    }
    for piece in bytes.chunks(5) {
        worker.send(piece);
    }
    for id in 1..=3 {
        assert_eq!(worker.reply(id), Reply::Values(Values::none().int(i64::from(id) + 10).0));
    }
}
