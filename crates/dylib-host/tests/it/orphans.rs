//! Nothing outlives its server: not a worker whose server was killed, not what a library left running.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use toolmux_dylib_host::frame::RequestFrame;
use toolmux_dylib_host::hello::{Hello, Profile};
use toolmux_dylib_host::plan::{CFunction, CReturn};

use crate::plans::{A_INT, INT, Values, function, hello, plan};
use crate::worker::{Reply, Worker, pipe};

const PROFILES: [Profile; 3] = [Profile::Pure, Profile::Deny, Profile::Off];

fn frames(hello: &Hello) -> Vec<u8> {
    let json = serde_json::to_vec(hello).unwrap();
    let mut bytes = Vec::new();
    RequestFrame::Hello { id: 0, json: &json }.encode(&mut bytes).unwrap();
    RequestFrame::Call { id: 1, function: 0, values: &[] }.encode(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_worker_in_an_endless_loop_ends_when_the_pipe_is_closed() {
    for profile in PROFILES {
        for symbol in ["spin", "hang", "block_sigs_spin"] {
            let mut worker = Worker::start(&hello(plan(vec![function(symbol, &[], CReturn::Void)]), profile));
            worker.begin(0, &Values::none());
            worker.wait_until_inside();
            worker.close_requests();
            worker.wait();
        }
    }
}

/// `cat` stands for a server: it alone holds the pipe to the worker, and it is killed without warning.
#[test]
fn a_worker_in_an_endless_loop_ends_when_its_server_is_killed() {
    for profile in PROFILES {
        let (requests, to_worker) = pipe();
        let (for_cat, mut to_cat) = pipe();
        let mut server = Command::new("cat").stdin(for_cat).stdout(to_worker).spawn().unwrap();
        let mut worker = Command::new(env!("CARGO_BIN_EXE_dyn-worker"));
        let (mut worker, mut stderr) = spawn(worker.stdin(requests));
        to_cat.write_all(&frames(&hello(plan(vec![function("spin", &[], CReturn::Void)]), profile))).unwrap();
        std::io::Read::read_exact(&mut stderr, &mut [0; 7]).unwrap();
        server.kill().unwrap();
        assert_eq!(server.wait().unwrap().signal(), Some(libc::SIGKILL));
        worker.wait().unwrap();
    }
}

fn spawn(command: &mut Command) -> (std::process::Child, File) {
    let (stderr, for_worker) = pipe();
    (command.stdout(Stdio::null()).stderr(for_worker).spawn().unwrap(), stderr)
}

#[test]
fn a_worker_whose_library_hangs_while_loading_ends_with_its_server() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dyn-worker"));
    let mut worker = Worker::spawn_by(command.env("FIXTURE_HANG_ON_LOAD", "1"));
    let json = serde_json::to_vec(&hello(plan(Vec::new()), Profile::Pure)).unwrap();
    worker.request(RequestFrame::Hello { id: 0, json: &json });
    worker.wait_until_inside();
    worker.close_requests();
    worker.wait();
}

#[test]
fn a_worker_that_was_never_greeted_ends_with_its_server() {
    let mut worker = Worker::spawn();
    worker.close_requests();
    worker.wait();
}

#[test]
fn a_stopped_and_continued_worker_still_watches_the_pipe() {
    let mut worker = Worker::start(&hello(plan(vec![function("spin", &[], CReturn::Void)]), Profile::Pure));
    worker.begin(0, &Values::none());
    worker.wait_until_inside();
    worker.signal(libc::SIGSTOP);
    worker.signal(libc::SIGCONT);
    worker.close_requests();
    worker.wait();
}

fn leaving_a_child() -> Vec<CFunction> {
    vec![function("fork_bomb_one", &[], INT), function("do_exit", &[A_INT], CReturn::Void)]
}

#[test]
fn a_child_that_a_library_left_dies_with_the_group() {
    let mut worker = Worker::start(&hello(plan(leaving_a_child()), Profile::Off));
    assert_eq!(worker.result(0, &Values::none()), Values::none().int(1).0);
    worker.kill_group();
    // Standard error ends when the last process that holds it is gone.
    worker.stderr_to_end();
}

#[test]
fn a_child_that_a_library_left_dies_when_the_server_does() {
    let mut worker = Worker::start(&hello(plan(leaving_a_child()), Profile::Off));
    assert_eq!(worker.result(0, &Values::none()), Values::none().int(1).0);
    worker.close_requests();
    worker.stderr_to_end();
}

#[test]
fn a_child_that_a_library_left_dies_when_the_worker_is_stopped() {
    let mut worker = Worker::start(&hello(plan(leaving_a_child()), Profile::Off));
    assert_eq!(worker.result(0, &Values::none()), Values::none().int(1).0);
    worker.stop();
    worker.stderr_to_end();
}

#[test]
fn a_child_that_a_library_left_hides_the_end_of_the_pipe_but_not_of_the_worker() {
    let mut worker = Worker::start(&hello(plan(leaving_a_child()), Profile::Off));
    worker.result(0, &Values::none());
    worker.begin(1, &Values::none().int(3));
    assert_eq!(worker.wait_for_code(), Some(3));
    assert!(!worker.answers_hung_up());
    worker.kill_group();
    assert_eq!(worker.reply(0), Reply::EndOfPipe);
}

#[test]
fn a_thread_that_a_library_left_dies_with_the_worker() {
    for profile in [Profile::Deny, Profile::Off] {
        let mut worker = Worker::start(&hello(plan(vec![function("thread_left", &[], INT)]), profile));
        assert_eq!(worker.result(0, &Values::none()), Values::none().int(0).0);
        worker.stop();
        worker.stderr_to_end();
        worker.wait();
    }
}
