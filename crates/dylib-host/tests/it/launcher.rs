//! Programs that the launcher starts, as root and as a user without rights.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use toolmux_dylib_host::hello::Degree;
use toolmux_dylib_host::launcher::{ARGUMENT, Confinement, FAILED, Held, Network};

const NOBODY: u32 = 65534;

/// Users that this test can be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum User {
    Own,
    Nobody,
}

fn users() -> Vec<User> {
    // SAFETY: only reads an identity.
    if unsafe { libc::geteuid() } == 0 { vec![User::Own, User::Nobody] } else { vec![User::Own] }
}

/// A folder that everybody may use, with the launcher and a folder for each kind of access.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        let launcher = place.path("launcher");
        // By a process of its own: a program that we have open for writing cannot be run.
        assert!(
            Command::new("cp")
                .arg(env!("CARGO_BIN_EXE_dyn-worker"))
                .arg(launcher)
                .status()
                .unwrap()
                .success()
        );
        for folder in ["", "read", "write", "other"] {
            fs::create_dir_all(place.path(folder)).unwrap();
            fs::set_permissions(place.path(folder), fs::Permissions::from_mode(0o777)).unwrap();
            fs::write(place.path(folder).join("file"), "content").unwrap();
            fs::set_permissions(place.path(folder).join("file"), fs::Permissions::from_mode(0o666)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn confinement(&self) -> Confinement {
        Confinement {
            read: vec![self.path("read")],
            write: vec![self.path("write")],
            ..Confinement::default()
        }
    }

    fn run(&self, user: User, confinement: &Confinement, command: &[&str]) -> Output {
        let mut launcher = Command::new(self.path("launcher"));
        launcher.args([ARGUMENT, &serde_json::to_string(confinement).unwrap()]).args(command);
        launcher.current_dir(self.0.path());
        if user == User::Nobody {
            launcher.uid(NOBODY).gid(NOBODY);
        }
        launcher.output().unwrap()
    }

    /// Runs a line of the shell; true when it succeeded.
    #[track_caller]
    fn can(&self, user: User, confinement: &Confinement, script: &str) -> bool {
        let output = self.run(user, confinement, &["sh", "-c", script]);
        assert_ne!(output.status.code(), Some(FAILED), "{}", String::from_utf8_lossy(&output.stderr));
        output.status.success()
    }
}

fn python(script: &str) -> [&str; 3] {
    ["/usr/bin/python3", "-c", script]
}

#[test]
fn a_program_reads_and_writes_what_is_listed_and_nothing_else() {
    let place = Place::new();
    for user in users() {
        let confinement = place.confinement();
        for script in
            ["cat read/file", "cat write/file", "echo x > write/new; cat write/new", "true > /dev/null"]
        {
            assert!(place.can(user, &confinement, script), "{user:?} {script}");
        }
        for script in [
            "cat other/file",
            "ls other",
            "echo x > other/new",
            "echo x > read/file",
            "truncate -s 0 other/file",
            "mv write/file other/moved",
            "ln other/file write/linked",
            "chmod 600 write/file",
            "cat /proc/1/cmdline",
            "mknod write/device c 1 3",
        ] {
            assert!(!place.can(user, &confinement, script), "{user:?} {script}");
        }
        assert_eq!(fs::read_to_string(place.path("other/file")).unwrap(), "content");
        fs::remove_file(place.path("write/new")).unwrap();
    }
}

#[test]
fn a_program_reaches_no_network_and_no_other_process() {
    let place = Place::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let dialled = format!("import socket; socket.create_connection(('127.0.0.1', {port}))");
    let named = "import socket; socket.socket(socket.AF_UNIX)";
    let pair = "import socket; a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'";
    let parent = "import os; os.kill(os.getppid(), 0)";
    let powerless = "assert 'CapEff:\\t0000000000000000' in open('/proc/self/status').read()";
    let own = "import subprocess; child = subprocess.Popen(['sleep', '60']); child.kill(); child.wait()";
    for user in users() {
        let allowed = |network, script| {
            let confinement = Confinement { network, ..place.confinement() };
            place.run(user, &confinement, &python(script)).status.success()
        };
        assert!(!allowed(Network::Denied, &dialled) && allowed(Network::Allowed, &dialled), "{user:?}");
        for network in [Network::Denied, Network::Allowed] {
            assert!(!allowed(network, named), "{user:?} {network:?}");
            for script in [pair, own, powerless] {
                assert!(allowed(network, script), "{user:?} {network:?} {script}");
            }
            assert!(!allowed(network, parent), "{user:?} {network:?}");
            assert!(!allowed(network, "import os; os.setsid()"), "{user:?} {network:?}");
            assert!(!allowed(network, "import ctypes; assert ctypes.CDLL(None).unshare(1 << 28) == 0"));
        }
    }
}

#[test]
fn a_program_has_the_memory_and_the_time_it_was_given() {
    let place = Place::new();
    let confinement = Confinement { memory: Some(256 << 20), cpu_seconds: Some(1), ..place.confinement() };
    let shared = "import mmap; mmap.mmap(-1, 1 << 12, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)";
    let raised = "import resource as r; r.setrlimit(r.RLIMIT_DATA, (1 << 30, 1 << 30))";
    for user in users() {
        let run = |script| place.run(user, &confinement, &python(script)).status;
        assert!(run("bytearray(64 << 20)").success(), "{user:?}");
        for script in ["bytearray(512 << 20)", shared, raised] {
            assert!(!run(script).success(), "{user:?} {script}");
        }
        assert!(!run("while True: pass").success(), "{user:?}: it ends");
    }
}

/// Has ten others run at once.
const TEN: &str = r"
import subprocess
children = []
try:
    for _ in range(10): children.append(subprocess.Popen(['sleep', '600']))
finally:
    for child in children: child.kill()
    for child in children: child.wait()
";

#[test]
fn a_program_starts_as_many_others_as_it_may() {
    let place = Place::new();
    let limited = |processes| Confinement { processes: Some(processes), ..place.confinement() };
    for user in users() {
        assert!(place.can(user, &limited(0), "exit 0"), "{user:?}");
        assert!(!place.can(user, &limited(0), "sleep 0; exit 0"), "{user:?}");
        // SAFETY: only reads an identity.
        if user == User::Own && unsafe { libc::geteuid() } == 0 {
            let output = place.run(user, &limited(5), &["true"]);
            assert_eq!(output.status.code(), Some(FAILED));
            assert!(String::from_utf8_lossy(&output.stderr).contains("the processes of root"));
        } else {
            let run = |processes| place.run(user, &limited(processes), &python(TEN)).status.success();
            assert!(run(20) && !run(5), "{user:?}");
        }
    }
}

#[test]
fn a_program_that_cannot_be_started_is_told_with_the_mark() {
    let place = Place::new();
    let confinement = Confinement { mark: "a mark ".to_owned(), ..place.confinement() };
    for (program, reason) in [("no-such-program", "not found"), ("./nowhere", "No such file")] {
        let output = place.run(User::Own, &confinement, &[program]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(FAILED), "{told}");
        assert!(
            told.starts_with(&format!("a mark cannot start `{program}`")) && told.contains(reason),
            "{told}"
        );
    }
    let typed = Command::new(place.path("launcher")).args([ARGUMENT, "help"]).output().unwrap();
    assert_eq!(typed.status.code(), Some(FAILED));
}

#[test]
fn without_a_program_it_tells_what_holds() {
    let place = Place::new();
    let output = place.run(User::Own, &place.confinement(), &[]);
    let held: Held = serde_json::from_slice(&output.stdout).unwrap();
    assert!(held.landlock >= 3 && held.files != Degree::Not, "{held:?}");
}

#[test]
fn a_program_outside_the_system_folders_is_started_by_its_path() {
    let place = Place::new();
    let own = place.path("other/tool");
    fs::write(&own, "#!/bin/sh\nexec cat other/file").unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |program: &Path| place.run(User::Own, &place.confinement(), &[program.to_str().unwrap()]);
    let output = run(&own);
    assert_eq!(output.status.code(), Some(1), "it runs, and reads no more than any other");
    assert!(String::from_utf8_lossy(&output.stderr).contains("Permission denied"));
}
