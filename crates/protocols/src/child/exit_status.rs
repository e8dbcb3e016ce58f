//! How a process ended, in words.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Signals that have well-known names.
const SIGNALS: [(i32, &str); 13] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (15, "SIGTERM"),
    (24, "SIGXCPU"),
    (31, "SIGSYS"),
];

/// The name of a signal, or its number where it has none here.
pub(crate) fn signal_name(signal: i32) -> String {
    let known = SIGNALS.iter().find(|(number, _)| *number == signal);
    known.map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned())
}

/// As it stands in brackets behind something that failed: `exit status 7`, `SIGSEGV`.
pub(crate) fn noun(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => signal_name(signal),
        (None, None) => "no status".to_owned(),
    }
}

/// As it follows the name of a program: `ended with status 7`, `was killed by signal 11 (SIGSEGV)`.
pub(crate) fn sentence(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => match signal_name(signal) {
            name if name.starts_with("SIG") => format!("was killed by signal {signal} ({name})"),
            _ => format!("was killed by signal {signal}"),
        },
        (None, None) => "ended without a status".to_owned(),
    }
}
