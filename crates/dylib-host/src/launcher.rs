//! Starts a program in a sandbox: this process gives up what the program must not have, and becomes the program. So it
//! keeps its process id, its group and its pipes, and whoever started it notices no difference.

use std::ffi::{CString, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::{env, ptr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::error_chain;
use crate::hello::Degree;
use crate::sandbox::{
    count_own_processes, give_up_capabilities, program_filters, restrict_program_calls,
    restrict_program_files, restrict_program_resources,
};

/// The argument that makes the server's own executable the launcher. Behind it stand a [`Confinement`] as JSON, the
/// program and its arguments. Without a program it prints what is [`Held`] and ends.
pub const ARGUMENT: &str = "sandbox-launcher";
/// The exit status when the program was not started; what it wrote to standard error says why.
pub const FAILED: i32 = 125;

/// What a program may do beside computing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Files and folders that it may read, beside those that programs are made of.
    pub read: Vec<PathBuf>,
    /// Files and folders that it may write and read.
    pub write: Vec<PathBuf>,
    pub network: Network,
    /// Bytes of memory of each process.
    pub memory: Option<u64>,
    /// Seconds of processor time of each process.
    pub cpu_seconds: Option<u64>,
    /// How many processes and threads it may start; none means no processes, but any threads.
    pub processes: Option<u64>,
    /// What stands before the reason on standard error when the program was not started. The program does not know it,
    /// so it cannot pretend.
    pub mark: String,
}

/// Whether a program may use the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    #[default]
    Denied,
    Allowed,
}

/// How much of a sandbox holds on this machine. System calls and resources hold wherever the launcher does not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub files: Degree,
    /// The version of landlock that the kernel has.
    pub landlock: i32,
}

#[derive(Debug, Error)]
enum LaunchError {
    #[error("`{ARGUMENT}` is only for toolmux itself")]
    Description(#[source] serde_json::Error),
    #[error("cannot start `{}`", .0.display())]
    Program(PathBuf, #[source] io::Error),
    #[error("the sandbox cannot be enforced: processes cannot be counted")]
    Processes(#[source] io::Error),
    #[error("the sandbox cannot be enforced: this kernel has no landlock of Linux 6.2 or newer")]
    Files(#[source] landlock::RulesetError),
    #[error("the sandbox cannot be enforced: resources cannot be limited")]
    Resources(#[source] io::Error),
    #[error("the sandbox cannot be enforced: system calls cannot be restricted by seccomp")]
    Calls(#[source] seccompiler::Error),
}

/// Turns this process into the program that its arguments name. Call it first in `main`.
pub fn run() -> ! {
    let mut arguments = env::args_os().skip(2);
    let description = arguments.next().unwrap_or_default();
    let command: Vec<OsString> = arguments.collect();
    let confinement = serde_json::from_slice::<Confinement>(description.as_bytes());
    let mark = confinement.as_ref().map(|confinement| confinement.mark.clone()).unwrap_or_default();
    let launched = confinement.map_err(LaunchError::Description);
    let status = match launched.and_then(|confinement| launch(&confinement, &command)) {
        Ok(held) => {
            let told = serde_json::to_string(&held).unwrap_or_default();
            i32::from(writeln!(io::stdout(), "{told}").is_err())
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "{mark}{}", error_chain(&error));
            FAILED
        }
    };
    std::process::exit(status)
}

fn launch(confinement: &Confinement, command: &[OsString]) -> Result<Held, LaunchError> {
    let program = command.first().map(|name| located(Path::new(name))).transpose()?;
    let words: Vec<CString> = command.iter().map(|word| c_string(word.clone())).collect();
    let path = program.clone().map(|path| c_string(path.into_os_string()));
    let filters = program_filters(confinement).map_err(LaunchError::Calls)?;
    count_own_processes(confinement).map_err(LaunchError::Processes)?;
    give_up_capabilities();
    let (files, landlock) =
        restrict_program_files(confinement, program.as_deref()).map_err(LaunchError::Files)?;
    restrict_program_resources(confinement).map_err(LaunchError::Resources)?;
    restrict_program_calls(&filters).map_err(LaunchError::Calls)?;
    let (Some(program), Some(path)) = (program, path) else { return Ok(Held { files, landlock }) };
    Err(LaunchError::Program(program, become_program(&path, &words)))
}

/// The file of a program as the system finds it. In the sandbox it may be outside of what can be read.
fn located(name: &Path) -> Result<PathBuf, LaunchError> {
    if name.components().count() != 1 || name.as_os_str().as_bytes().contains(&b'/') {
        return Ok(name.to_owned());
    }
    let folders = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let found = env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| is_program(file));
    found.ok_or_else(|| LaunchError::Program(name.to_owned(), io::ErrorKind::NotFound.into()))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Arguments of a process hold no NUL.
fn c_string(word: OsString) -> CString {
    CString::new(word.into_vec()).unwrap_or_default()
}

/// Returns only if that fails.
fn become_program(path: &CString, words: &[CString]) -> io::Error {
    let mut pointers: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(ptr::null());
    // SAFETY: the words outlive the call and their list ends with NULL. A Rust program ignores SIGPIPE, and what is
    // ignored stays ignored in the program.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::execvp(path.as_ptr(), pointers.as_ptr());
    }
    io::Error::last_os_error()
}
