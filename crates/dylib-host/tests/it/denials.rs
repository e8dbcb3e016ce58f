//! What the sandbox refuses is told with the result, and telling it disturbs no library: neither one that blocks signals
//! nor one with threads.

use std::path::{Path, PathBuf};

use libc::{EACCES, EFAULT, ENOENT, EPERM};
use tempfile::TempDir;
use toolmux_dylib_host::denial::Denial;
use toolmux_dylib_host::hello::{Hello, Profile, Sandbox};
use toolmux_dylib_host::plan::CFunction;
use toolmux_dylib_host::value::Reader;

use crate::plans::{INT, PATH, Values, function, hello, plan};
use crate::worker::Worker;

const WITH_PATH: &[&str] = &["try_open", "try_write", "threads_open", "reads_first_letter", "make_folder"];
const WITHOUT: &[&str] = &[
    "try_socket",
    "open_bad_pointer",
    "blocked_socket",
    "blocked_bad_pointer",
    "handler_socket",
    "ignored_socket",
    "thread_left",
    "counter",
];

struct Library {
    folder: TempDir,
    worker: Worker,
}

impl Library {
    /// A worker that may read the file `listed` of a folder, if files can be used at all, and not `other`.
    fn start(profile: Profile) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for file in ["listed", "other"] {
            std::fs::write(folder.path().join(file), file).unwrap();
        }
        let with_path = WITH_PATH.iter().map(|name| function(name, &[PATH], INT));
        let without = WITHOUT.iter().map(|name| function(name, &[], INT));
        let functions = with_path.chain(without).map(|function| CFunction { errno: true, ..function });
        let sandbox = Sandbox { profile, readable: vec![folder.path().join("listed")], writable: Vec::new() };
        let hello = Hello { sandbox, ..hello(plan(functions.collect()), profile) };
        Self { worker: Worker::start(&hello), folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the function returned, and what was refused while it ran.
    fn call(&mut self, name: &str, values: &Values) -> (i32, Vec<Denial>) {
        let index = WITH_PATH.iter().chain(WITHOUT).position(|other| *other == name).unwrap();
        let result = self.worker.result(index, values);
        let mut reader = Reader::new(&result);
        let returned = reader.word().unwrap() as i32;
        reader.errno().unwrap();
        let denials = reader.bytes().unwrap();
        reader.end().unwrap();
        (returned, denials.map(|json| serde_json::from_slice(json).unwrap()).unwrap_or_default())
    }

    #[track_caller]
    fn check(&mut self, name: &str, returned: i32, denials: &[Denial]) {
        assert_eq!(self.call(name, &Values::none()), (returned, denials.to_vec()), "{name}");
    }

    #[track_caller]
    fn check_path(&mut self, name: &str, path: &Path, returned: i32, denials: &[Denial]) {
        let path = Values::none().bytes(path.to_str().unwrap().as_bytes());
        assert_eq!(self.call(name, &path), (returned, denials.to_vec()), "{name}");
    }
}

fn read(path: &Path) -> Denial {
    Denial::Read(path.to_str().unwrap().to_owned())
}

fn write(path: &Path) -> Denial {
    Denial::Write(path.to_str().unwrap().to_owned())
}

fn call(name: &str) -> Denial {
    Denial::Call(name.to_owned())
}

#[test]
fn deny_tells_which_files_and_calls_were_refused() {
    let mut library = Library::start(Profile::Deny);
    let (listed, other, new) = (library.path("listed"), library.path("other"), library.path("new"));
    library.check_path("try_open", &other, -EACCES, &[read(&other)]);
    library.check_path("try_write", &listed, -EACCES, &[write(&listed)]);
    library.check_path("make_folder", &new, -EACCES, &[write(&new)]);
    library.check("try_socket", -EPERM, &[call("socket")]);
    // What was refused to one call is not told with the next.
    library.check("counter", 1, &[]);
    library.check_path("reads_first_letter", &listed, i32::from(b'l'), &[]);
    library.check_path("reads_first_letter", &library.path("none"), -ENOENT, &[]);
    library.check("open_bad_pointer", -EFAULT, &[]);
}

#[test]
fn pure_tells_which_files_and_calls_were_refused() {
    let mut library = Library::start(Profile::Pure);
    let listed = library.path("listed");
    library.check_path("try_open", &listed, -EPERM, &[read(&listed)]);
    library.check_path("make_folder", &listed, -EPERM, &[write(&listed)]);
    library.check("try_socket", -EPERM, &[call("socket")]);
    library.check("open_bad_pointer", -EPERM, &[Denial::Read(String::new())]);
    library.check("thread_left", EPERM, &[call("clone3")]);
    library.check("counter", 1, &[]);
}

#[test]
fn off_refuses_nothing() {
    let mut library = Library::start(Profile::Off);
    library.check_path("try_open", &library.path("other"), 0, &[]);
    library.check("try_socket", 0, &[]);
}

#[test]
fn a_library_that_blocks_every_signal_is_refused_calls_as_any_other() {
    for profile in [Profile::Pure, Profile::Deny] {
        let mut library = Library::start(profile);
        for name in ["blocked_socket", "handler_socket", "ignored_socket", "try_socket"] {
            library.check(name, -EPERM, &[call("socket")]);
        }
        library.check("blocked_bad_pointer", -EFAULT, &[]);
    }
}

#[test]
fn threads_that_block_every_signal_open_files() {
    let mut library = Library::start(Profile::Deny);
    let (listed, other) = (library.path("listed"), library.path("other"));
    library.check_path("threads_open", &listed, 800, &[]);
    library.check_path("threads_open", &other, 0, &[read(&other)]);
}
