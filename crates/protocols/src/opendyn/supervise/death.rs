//! How a worker died, in words for whoever made the call.

use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use toolmux_dylib_host::frame::Crash;
use toolmux_dylib_host::plan::{CFunction, Direction, Pass};

use crate::child::exit_status::signal_name;

/// The signal by which a worker answers refused calls. Without last words of its handler, it was blocked.
const SIGSYS: i32 = 31;

/// Why the call that was running has no result.
#[derive(Clone, Debug)]
pub(in crate::opendyn) enum Death {
    /// By a signal, with the last words of the signal handler if it had any.
    Crashed { signal: i32, crash: Option<Crash> },
    /// The library ended the process.
    Exited(i32),
    /// The time was up.
    TimedOut(Duration),
    /// The library closed the pipes, or wrote nonsense to them.
    Broken(&'static str),
}

impl Death {
    pub(super) fn of(status: Option<ExitStatus>, crash: Option<Crash>) -> Self {
        let code = status.and_then(|status| status.code());
        let signal = status.and_then(|status| status.signal());
        match (code, signal, crash) {
            (_, _, Some(last)) => Death::Crashed { signal: i32::from(last.signal), crash },
            (Some(code), _, None) => Death::Exited(code),
            (None, Some(signal), None) => Death::Crashed { signal, crash },
            (None, None, None) => Death::Broken("closed its connection to the server"),
        }
    }

    /// What happened, as it follows the name of a function.
    pub(in crate::opendyn) fn words(&self, function: &CFunction) -> String {
        match self {
            Death::Crashed { signal, crash } => crash_words(*signal, *crash, function),
            Death::Exited(code) => format!("ended the process it ran in (exit status {code})"),
            Death::TimedOut(limit) => format!("did not return within {limit:?} and was ended"),
            Death::Broken(what) => (*what).to_owned(),
        }
    }
}

fn crash_words(signal: i32, crash: Option<Crash>, function: &CFunction) -> String {
    let mut words = format!("crashed ({})", signal_name(signal));
    let Some(crash) = crash else {
        if signal == SIGSYS {
            words.push_str(": the sandbox refused a system call while the library had blocked signals");
        }
        return words;
    };
    let hit = crash.parameter.and_then(|index| function.parameters.get(index));
    match hit {
        Some(parameter) => {
            let did = match &parameter.pass {
                Pass::Buffer(buffer) => match buffer.direction {
                    Direction::In => "reading",
                    Direction::Out => "writing",
                    Direction::InOut => "using",
                },
                Pass::Value(_)
                | Pass::Length { .. }
                | Pass::Indirect(_)
                | Pass::Handle { .. }
                | Pass::NewHandle { .. }
                | Pass::Rows
                | Pass::Structures(_)
                | Pass::StructureValue(_)
                | Pass::Texts { .. }
                | Pass::IndirectTexts(_)
                | Pass::Callback(_)
                | Pass::Kept { .. } => "using",
            };
            // Writing to a vector of letters cannot fail.
            write!(words, " while {did} parameter {}", parameter.name).ok();
        }
        None if crash.address != 0 => {
            write!(words, " at address {:#x}", crash.address).ok();
        }
        None => {}
    }
    words
}
