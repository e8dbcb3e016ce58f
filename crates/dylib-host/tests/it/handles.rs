//! Objects of the library behind numbers.

use toolmux_dylib_host::fault::CallFault;
use toolmux_dylib_host::hello::Profile;
use toolmux_dylib_host::limits::WorkerLimits;
use toolmux_dylib_host::plan::{CFunction, CReturn, Pass, Plan};

use crate::plans::{A_INT, INT, Values, function, hello, plan};
use crate::worker::{Reply, Worker};

const NEW: usize = 0;
const OPEN: usize = 1;
const GET: usize = 2;
const FREE: usize = 3;
const GET_OTHER: usize = 4;

fn functions() -> Vec<CFunction> {
    let tag = |tag: &str| tag.to_owned();
    let taking = |name, closes| ("o", Pass::Handle { tag: tag(name), closes });
    vec![
        function("obj_new", &[A_INT], CReturn::Handle { tag: tag("obj") }),
        function("obj_open", &[A_INT, ("out", Pass::NewHandle { tag: tag("obj") })], INT),
        function("obj_get", &[taking("obj", false)], INT),
        function("obj_free", &[taking("obj", true)], CReturn::Void),
        function("obj_get", &[taking("other", false)], INT),
    ]
}

fn start(generation: u32, limits: WorkerLimits) -> Worker {
    Worker::start(&hello(Plan { generation, limits, ..plan(functions()) }, Profile::Pure))
}

fn handle(generation: u32, id: u32) -> Values {
    Values::none().word(u64::from(generation) << 32 | u64::from(id))
}

#[track_caller]
fn check_bad(worker: &mut Worker, function: usize, handle: &Values, text: &str) {
    assert_eq!(worker.call(function, handle), Reply::Failed(CallFault::BadHandle, text.to_owned()));
}

#[test]
fn an_object_lives_from_new_to_free() {
    let mut worker = start(1, WorkerLimits::default());
    assert_eq!(worker.result(NEW, &Values::none().int(7)), handle(1, 1).0);
    assert_eq!(
        worker.result(OPEN, &Values::none().int(8)),
        [&Values::none().int(0).0[..], &handle(1, 2).0].concat()
    );
    assert_eq!(worker.result(GET, &handle(1, 1)), Values::none().int(7).0);
    assert_eq!(worker.result(GET, &handle(1, 2)), Values::none().int(8).0);
    assert!(worker.result(FREE, &handle(1, 1)).is_empty());
    check_bad(&mut worker, GET, &handle(1, 1), "the handle `obj#1.1` is not open");
    check_bad(&mut worker, FREE, &handle(1, 1), "the handle `obj#1.1` is not open");
    assert_eq!(worker.result(GET, &handle(1, 2)), Values::none().int(8).0);
}

#[test]
fn an_object_of_another_kind_is_refused() {
    let mut worker = start(1, WorkerLimits::default());
    worker.result(NEW, &Values::none().int(7));
    check_bad(&mut worker, GET_OTHER, &handle(1, 1), "the handle `other#1.1` is a `obj`");
}

#[test]
fn a_handle_dies_with_its_worker() {
    let mut worker = start(2, WorkerLimits::default());
    worker.result(NEW, &Values::none().int(7));
    check_bad(
        &mut worker,
        GET,
        &handle(1, 1),
        "the handle `obj#1.1` was lost when the library was restarted",
    );
}

#[test]
fn null_goes_in_and_out_as_zero() {
    let mut worker = start(1, WorkerLimits::default());
    assert_eq!(worker.result(NEW, &Values::none().int(-1)), Values::none().word(0).0);
    assert_eq!(worker.result(OPEN, &Values::none().int(-1)), Values::none().int(-1).word(0).0);
    assert_eq!(worker.result(GET, &Values::none().word(0)), Values::none().int(-1).0);
}

#[test]
fn too_many_objects_are_refused_before_another_is_made() {
    let mut worker = start(1, WorkerLimits { handles: 2, ..WorkerLimits::default() });
    worker.result(NEW, &Values::none().int(1));
    worker.result(NEW, &Values::none().int(2));
    let reply = worker.call(NEW, &Values::none().int(3));
    let text = "2 objects are open, close some first".to_owned();
    assert_eq!(reply, Reply::Failed(CallFault::TooManyHandles, text));
    worker.result(FREE, &handle(1, 1));
    assert_eq!(worker.result(NEW, &Values::none().int(3)), handle(1, 3).0);
}
