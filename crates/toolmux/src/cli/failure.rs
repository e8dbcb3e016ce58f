//! How a command fails: words, a remedy when we know one, and an exit code.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use toolmux_core::message::Message;
use toolmux_core::redact::redacted;
use toolmux_core::refusal::Refusal;
use toolmux_protocols::registry::OpenError;

use super::terminal::{Terminal, note};
use crate::config::{ConfigFault, near_file};
use crate::printable::printable;
use crate::signals::EndSignal;

/// The tool ran and failed.
pub(super) const TOOL_FAILED: u8 = 1;
/// Wrong usage, or refused.
pub(super) const REFUSED: u8 = 2;

/// How wide reports are where no terminal says.
const USUAL_WIDTH: usize = 100;

/// Why a command did not do what it was asked.
pub(super) struct Failure {
    report: miette::Report,
    hint: Option<String>,
    code: u8,
    /// What else is wrong, printed after it.
    others: Vec<Failure>,
}

impl Failure {
    /// Something was refused or cannot be done.
    pub(super) fn refused(error: impl Into<anyhow::Error>) -> Self {
        let error: anyhow::Error = error.into();
        let hint = error.chain().find_map(|cause| cause.downcast_ref::<OpenError>()?.hint.clone());
        Failure { hint, ..Failure::of(&chained(&error), REFUSED) }
    }

    /// The tool ran and failed.
    pub(super) fn tool(message: &str) -> Self {
        Failure::of(message, TOOL_FAILED)
    }

    /// A signal ended the command.
    pub(super) fn ended_by(signal: EndSignal) -> Self {
        Failure::of(&format!("ended by {}", signal.name()), signal.exit_code())
    }

    /// A signal ended the command while its call ran at a server, where the call was cancelled.
    pub(super) fn cancelled_by(signal: EndSignal) -> Self {
        Failure::of(&format!("the call was cancelled by {}", signal.name()), signal.exit_code())
    }

    fn of(message: &str, code: u8) -> Self {
        Failure { report: miette::miette!("{}", shown(message)), hint: None, code, others: Vec::new() }
    }

    /// Everything that is wrong, in words.
    pub(super) fn all(&self) -> Vec<String> {
        std::iter::once(self.to_string()).chain(self.others.iter().map(ToString::to_string)).collect()
    }

    /// A file that was named does not exist.
    pub(super) fn no_file(path: &Path) -> Self {
        let failure = Failure::refused(anyhow::anyhow!("there is no `{}`", path.display()));
        failure.meaning(near_file(path))
    }

    /// Adds what was meant, when something is near enough.
    pub(super) fn meaning(self, meant: Option<impl fmt::Display>) -> Self {
        match meant {
            Some(meant) => self.hint(format!("did you mean `{meant}`?")),
            None => self,
        }
    }

    /// Adds what to do about it.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds another thing to do about it.
    pub(super) fn hint_more(self, more: impl fmt::Display) -> Self {
        let hint = match &self.hint {
            Some(hint) => format!("{hint} {more}"),
            None => more.to_string(),
        };
        self.hint(hint)
    }

    /// Says it, and gives the exit code.
    pub(super) fn report(self) -> ExitCode {
        eprintln!("{}", redacted(&format!("{:?}", self.report)));
        if let Some(hint) = self.hint {
            note(&format!("hint: {hint}"));
        }
        for other in self.others {
            other.report();
        }
        ExitCode::from(self.code)
    }
}

/// Only what is wrong, for programs.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.report)
    }
}

/// Both halves of a message: who reads what we print is a developer.
pub(super) fn whole(message: &Message) -> String {
    match &message.developer {
        Some(developer) => format!("{}: {developer}", message.public),
        None => message.public.clone(),
    }
}

/// An error and its causes, without a cause that the words before it end with: some errors quote theirs.
fn chained(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |mut all, cause| {
        if !all.ends_with(&cause) {
            all.push_str(if all.is_empty() { "" } else { ": " });
            all.push_str(&cause);
        }
        all
    })
}

/// The words of others as a report may show them.
fn shown(text: &str) -> String {
    printable(&redacted(text)).into_owned()
}

/// Makes reports fit whoever reads them.
pub(super) fn shown_on(terminal: &Terminal) {
    let Terminal { err_colour, width, .. } = *terminal;
    let options = move || {
        let options = miette::MietteHandlerOpts::new().color(err_colour).terminal_links(false);
        options.width(width.unwrap_or(USUAL_WIDTH)).build()
    };
    // Only a second hook is refused, and this is the first.
    miette::set_hook(Box::new(move |_| Box::new(options()))).ok();
}

impl From<ConfigFault> for Failure {
    fn from(fault: ConfigFault) -> Self {
        let one = |fault: ConfigFault| {
            let hint = fault.hint.clone();
            Failure { report: fault.into(), hint, code: REFUSED, others: Vec::new() }
        };
        let mut faults = fault.split().into_iter().map(one);
        let first = faults.next().unwrap_or_else(|| Failure::of("the configuration cannot be read", REFUSED));
        Failure { others: faults.collect(), ..first }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure::refused(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.message();
        let failure = Failure::of(&message.public, REFUSED);
        match (refusal, message.developer) {
            (_, Some(developer)) => failure.hint(developer),
            (Refusal::UnknownTool { .. }, None) => failure.hint("`toolmux tools` lists all tools"),
            _ => failure,
        }
    }
}
