//! Functions that never return: the server kills the group, nothing is left.

use toolmux_dylib_host::hello::Profile;
use toolmux_dylib_host::plan::CReturn;

use crate::plans::{INT, Values, function, hello, plan};
use crate::worker::{Reply, Worker};

#[track_caller]
fn check(symbol: &str) {
    for profile in [Profile::Pure, Profile::Deny, Profile::Off] {
        let mut worker = Worker::start(&hello(plan(vec![function(symbol, &[], CReturn::Void)]), profile));
        worker.begin(0, &Values::none());
        worker.wait_until_inside();
        worker.kill_group();
        assert_eq!(worker.reply(0), Reply::EndOfPipe);
        assert_eq!(worker.wait_for_signal(), Some(libc::SIGKILL));
    }
}

#[test]
fn a_function_that_waits_forever_is_killed() {
    check("hang");
}

#[test]
fn an_endless_loop_is_killed() {
    check("spin");
}

#[test]
fn blocked_signals_do_not_help_against_the_kill() {
    check("block_sigs_spin");
}

#[test]
fn a_stopped_worker_is_killed() {
    let mut worker = Worker::start(&hello(plan(vec![function("counter", &[], INT)]), Profile::Pure));
    worker.signal(libc::SIGSTOP);
    worker.begin(0, &Values::none());
    worker.kill_group();
    assert_eq!(worker.wait_for_signal(), Some(libc::SIGKILL));
}
