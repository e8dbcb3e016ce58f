//! Memory, descriptors and the heap.

use std::path::Path;
use std::process::Command;

use toolmux_dylib_host::fault::CallFault;
use toolmux_dylib_host::hello::Profile;
use toolmux_dylib_host::limits::WorkerLimits;
use toolmux_dylib_host::plan::{CReturn, Direction, Length, Pass, Plan};
use toolmux_dylib_host::scalar::Scalar;

use crate::plans::{A_INT, INT, Values, buffer, function, hello, plan, size_from};
use crate::worker::{Reply, Worker};

const MALLOC_DEBUG: [&str; 2] =
    ["/lib/x86_64-linux-gnu/libc_malloc_debug.so.0", "/lib64/libc_malloc_debug.so.0"];

/// Which of these many bytes a library gets, one after the other, when it may take `memory`.
fn check(memory: u64, wanted: [i64; 3], expect: [bool; 3]) {
    let leak = function("leak", &[("bytes", Pass::Value(Scalar::UnsignedLong))], INT);
    let limits = WorkerLimits { memory, ..WorkerLimits::default() };
    let mut worker = Worker::start(&hello(Plan { limits, ..plan(vec![leak]) }, Profile::Pure));
    let got = wanted.map(|bytes| worker.result(0, &Values::none().int(bytes)) == Values::none().int(1).0);
    assert_eq!(got, expect, "of {memory}");
}

#[test]
fn memory_ends_at_the_limit_and_the_worker_goes_on() {
    check(WorkerLimits::default().memory, [800 << 20, 400 << 20, 1000], [true, false, true]);
}

#[test]
fn what_the_worker_itself_takes_is_not_the_library_s() {
    check(8 << 20, [4 << 20, 8 << 20, 1000], [true, false, true]);
}

#[test]
fn a_buffer_that_finds_no_memory_is_refused_before_the_call() {
    let out = ("x", buffer(Scalar::Char, Direction::Out, Some(size_from(1)), Length::All));
    let functions = vec![function("out_char", &[out, A_INT], CReturn::Void)];
    let limits = WorkerLimits { memory: 64 << 20, outputs: 1 << 30, ..WorkerLimits::default() };
    let mut worker = Worker::start(&hello(Plan { limits, ..plan(functions) }, Profile::Pure));
    let reply = worker.call(0, &Values::none().int(100 << 20));
    assert!(matches!(reply, Reply::Failed(CallFault::NoMemory, _)), "{reply:?}");
    assert!(matches!(worker.call(0, &Values::none().int(1000)), Reply::Values(_)));
}

#[test]
fn descriptors_end_at_the_limit() {
    let functions = vec![function("open_many", &[], INT)];
    let mut worker = Worker::start(&hello(plan(functions), Profile::Deny));
    let opened = worker.result(0, &Values::none());
    // 0, 1 and 2 are taken.
    assert_eq!(opened, Values::none().int(64 - 3).0);
}

#[test]
fn an_overrun_heap_is_found_only_with_the_checking_allocator() {
    let functions = || vec![function("smash_heap", &[A_INT], CReturn::Void)];
    let Some(debug) = MALLOC_DEBUG.iter().find(|path| Path::new(path).exists()) else { return };
    let mut command = Command::new(env!("CARGO_BIN_EXE_dyn-worker"));
    let mut worker = Worker::spawn_by(command.env("LD_PRELOAD", debug).env("MALLOC_CHECK_", "3"));
    worker.greet(&hello(plan(functions()), Profile::Pure));
    let reply = worker.call(0, &Values::none().int(1));
    assert!(matches!(reply, Reply::Crashed(crash) if i32::from(crash.signal) == libc::SIGABRT), "{reply:?}");
}
