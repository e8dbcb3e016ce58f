//! What each profile lets a library do, as root and as a user without rights.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use libc::{EACCES, EPERM};
use tempfile::TempDir;
use toolmux_dylib_host::hello::{Hello, Profile, Sandbox};
use toolmux_dylib_host::plan::{CFunction, Plan};

use crate::fixture;
use crate::plans::{A_INT, INT, PATH, Values, function, hello, plan};
use crate::worker::Worker;

const NOBODY: u32 = 65534;

const OPEN: usize = 0;
const WRITE: usize = 1;
const CHMOD: usize = 2;
const SOCKET: usize = 3;
const EXEC: usize = 4;
const FORK: usize = 5;
const THREAD: usize = 6;
const KILL: usize = 7;

/// A folder that everybody may read, with the worker, the library and files to try.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let place = Self { folder };
        copy(env!("CARGO_BIN_EXE_dyn-worker").as_ref(), &place.path("dyn-worker"));
        copy(fixture::library(), &place.path("fixture.so"));
        for file in ["listed", "written", "other"] {
            fs::write(place.path(file), file).unwrap();
            fs::set_permissions(place.path(file), fs::Permissions::from_mode(0o666)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> Values {
        Values::none().bytes(self.path(name).to_str().unwrap().as_bytes())
    }

    fn hello(&self, profile: Profile) -> Hello {
        let functions: Vec<CFunction> = vec![
            function("try_open", &[PATH], INT),
            function("try_write", &[PATH], INT),
            function("try_chmod", &[PATH], INT),
            function("try_socket", &[], INT),
            function("try_exec", &[], INT),
            function("fork_bomb_one", &[], INT),
            function("thread_left", &[], INT),
            function("try_kill", &[A_INT], INT),
        ];
        let library = self.path("fixture.so").to_str().unwrap().to_owned();
        let sandbox =
            Sandbox { profile, readable: vec![self.path("listed")], writable: vec![self.path("written")] };
        Hello { plan: Plan { library, ..plan(functions) }, sandbox }
    }

    /// Workers as every kind of user this test can be.
    fn workers(&self, profile: Profile) -> Vec<Worker> {
        let program = self.path("dyn-worker");
        let mut workers = vec![Worker::spawn_by(&mut Command::new(&program))];
        if is_root() {
            workers.push(Worker::spawn_by(Command::new(&program).uid(NOBODY).gid(NOBODY)));
        }
        for worker in &mut workers {
            worker.greet(&self.hello(profile));
        }
        workers
    }
}

/// By a process of its own: a program that we have open for writing, if only in a child that another
/// test is about to start, cannot be run.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

fn is_root() -> bool {
    // SAFETY: only reads an identity.
    unsafe { libc::geteuid() == 0 }
}

fn parent() -> Values {
    Values::none().int(i64::from(std::process::id()))
}

fn errno(number: i32) -> Vec<u8> {
    Values::none().int(-i64::from(number)).0
}

fn allowed() -> Vec<u8> {
    errno(0)
}

#[test]
fn pure_lets_a_library_compute_and_nothing_else() {
    let place = Place::new();
    for mut worker in place.workers(Profile::Pure) {
        for file in ["listed", "other", "fixture.so"] {
            assert_eq!(worker.result(OPEN, &place.text(file)), errno(EPERM));
        }
        for file in ["written", "other", "new"] {
            assert_eq!(worker.result(WRITE, &place.text(file)), errno(EPERM));
        }
        assert_eq!(worker.result(CHMOD, &place.text("other")), errno(EPERM));
        for function in [SOCKET, EXEC, FORK] {
            assert_eq!(worker.result(function, &Values::none()), errno(EPERM));
        }
        assert_eq!(worker.result(THREAD, &Values::none()), errno(-EPERM));
        assert_eq!(worker.result(KILL, &parent()), errno(EPERM));
    }
}

#[test]
fn deny_lets_a_library_use_listed_files_and_threads() {
    let place = Place::new();
    for mut worker in place.workers(Profile::Deny) {
        assert_eq!(worker.result(OPEN, &place.text("listed")), allowed());
        assert_eq!(worker.result(OPEN, &place.text("other")), errno(EACCES));
        assert_eq!(worker.result(OPEN, &Values::none().bytes(b"/etc/passwd")), errno(EACCES));
        assert_eq!(worker.result(WRITE, &place.text("written")), allowed());
        for file in ["listed", "other", "new"] {
            assert_eq!(worker.result(WRITE, &place.text(file)), errno(EACCES));
        }
        for file in ["written", "other"] {
            assert_eq!(worker.result(CHMOD, &place.text(file)), errno(EPERM));
        }
        for function in [SOCKET, EXEC, FORK] {
            assert_eq!(worker.result(function, &Values::none()), errno(EPERM));
        }
        assert_eq!(worker.result(THREAD, &Values::none()), allowed());
        assert_eq!(worker.result(KILL, &parent()), errno(EPERM));
    }
    assert!(!place.path("new").exists());
}

/// Every way out is tried by a constructor, which runs while the library is loaded.
fn escapes_while_loading(profile: Profile) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dyn-worker"));
    let mut worker = Worker::spawn_by(command.env("FIXTURE_ESCAPE_ON_LOAD", "1"));
    worker.greet(&hello(plan(vec![function("escapes_while_loading", &[], INT)]), profile));
    let escapes = worker.result(0, &Values::none());
    worker.kill_group();
    escapes
}

#[test]
fn a_library_gets_out_neither_while_it_is_loaded_nor_later() {
    for profile in [Profile::Pure, Profile::Deny] {
        assert_eq!(escapes_while_loading(profile), Values::none().int(0).0, "{profile:?}");
    }
}

#[test]
fn a_library_disturbs_no_other_process() {
    for profile in [Profile::Pure, Profile::Deny] {
        let mut worker = Worker::start(&hello(plan(vec![function("disturbs", &[A_INT], INT)]), profile));
        assert_eq!(worker.result(0, &parent()), Values::none().int(0).0, "{profile:?}");
    }
}

#[test]
fn off_lets_a_library_do_what_its_user_may() {
    let place = Place::new();
    for mut worker in place.workers(Profile::Off) {
        assert_eq!(worker.result(OPEN, &place.text("other")), allowed());
        assert_eq!(worker.result(WRITE, &place.text("other")), allowed());
        for function in [SOCKET, EXEC, THREAD] {
            assert_eq!(worker.result(function, &Values::none()), allowed());
        }
        assert_eq!(worker.result(FORK, &Values::none()), errno(-1));
        worker.kill_group();
    }
}
