//! Every way to die of a signal: the call is named, the address, and the exit status tells the same.

use toolmux_dylib_host::frame::Crash;
use toolmux_dylib_host::hello::Profile;
use toolmux_dylib_host::plan::{CFunction, CReturn, Length, Pass};
use toolmux_dylib_host::scalar::Scalar;

use crate::plans::{A_INT, INT, Values, function, hello, output, plan};
use crate::worker::{Reply, Worker};

const PROFILES: [Profile; 3] = [Profile::Pure, Profile::Deny, Profile::Off];

#[track_caller]
fn check(function: &CFunction, values: &Values, signal: i32, address: Option<u64>) {
    for profile in PROFILES {
        let mut worker = Worker::start(&hello(plan(vec![function.clone()]), profile));
        let reply = worker.call(0, values);
        let Reply::Crashed(crash) = reply else { panic!("{reply:?} under {profile:?}") };
        let expected =
            Crash { signal: signal as u16, address: address.unwrap_or(crash.address), parameter: None };
        assert_eq!(crash, expected);
        assert_eq!(worker.reply(0), Reply::EndOfPipe);
        assert_eq!(worker.wait_for_signal(), Some(signal));
    }
}

#[test]
fn a_segmentation_fault_says_where() {
    check(&function("segv", &[], CReturn::Void), &Values::none(), libc::SIGSEGV, Some(16));
}

#[test]
fn a_wild_write_says_where() {
    let address = ("address", Pass::Value(Scalar::UnsignedLong));
    let function = function("wild_write", &[address], CReturn::Void);
    check(&function, &Values::none().word(0x1234_5000), libc::SIGSEGV, Some(0x1234_5000));
}

#[test]
fn abort_is_a_crash_without_an_address() {
    check(&function("do_abort", &[], CReturn::Void), &Values::none(), libc::SIGABRT, Some(0));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_division_by_zero_is_a_crash() {
    check(&function("divz", &[A_INT], INT), &Values::none().int(5), libc::SIGFPE, None);
}

#[test]
fn endless_recursion_is_a_crash() {
    check(&function("recurse", &[A_INT], INT), &Values::none().int(0), libc::SIGSEGV, None);
}

#[test]
fn a_raised_fault_signal_is_a_crash() {
    for signal in [libc::SIGBUS, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS] {
        let function = function("raise_sig", &[A_INT], INT);
        check(&function, &Values::none().int(i64::from(signal)), signal, Some(0));
    }
}

#[test]
fn a_plain_signal_ends_the_worker_without_last_words() {
    for profile in PROFILES {
        let mut worker = Worker::start(&hello(plan(vec![function("raise_sig", &[A_INT], INT)]), profile));
        assert_eq!(worker.call(0, &Values::none().int(i64::from(libc::SIGTERM))), Reply::EndOfPipe);
        assert_eq!(worker.wait_for_signal(), Some(libc::SIGTERM));
    }
}

#[test]
fn the_guilty_call_is_the_oldest_without_an_answer() {
    let functions = vec![function("counter", &[], INT), function("segv", &[], CReturn::Void)];
    let mut worker = Worker::start(&hello(plan(functions), Profile::Pure));
    let calls = worker.begin_all([0, 0, 1, 0]);
    assert_eq!(worker.reply(calls[0]), Reply::Values(Values::none().int(1).0));
    assert_eq!(worker.reply(calls[1]), Reply::Values(Values::none().int(2).0));
    assert!(matches!(worker.reply(calls[2]), Reply::Crashed(_)));
    assert_eq!(worker.reply(calls[3]), Reply::EndOfPipe);
}

#[test]
fn calls_behind_a_fatal_fault_are_not_started() {
    let buf = ("buf", output(Scalar::Char, 8, Length::Return));
    let functions = vec![function("lie_len", &[buf], INT), function("counter", &[], INT)];
    let mut worker = Worker::start(&hello(plan(functions), Profile::Pure));
    let calls = worker.begin_all([1, 0, 1]);
    assert_eq!(worker.reply(calls[0]), Reply::Values(Values::none().int(1).0));
    assert!(matches!(worker.reply(calls[1]), Reply::Failed(..)));
    assert_eq!(worker.reply(calls[2]), Reply::EndOfPipe);
}
