//! Whom we speak to: whether there is a terminal, how wide it is, and whether it likes colour.

use std::io::{IsTerminal, Write};

use clap::ValueEnum;
use toolmux_core::redact::redacted;

use crate::printable::{on_one_line, printable};

/// When to use colour.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ColourChoice {
    /// On terminals, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// In files and pipes too.
    Always,
    /// Not even on a terminal.
    Never,
}

/// The two streams of this process as their reader sees them.
#[derive(Clone, Copy)]
pub(super) struct Terminal {
    /// Columns of standard output; absent where nothing needs to fit.
    pub(super) width: Option<usize>,
    /// Standard output may have colour.
    out_colour: bool,
    /// Standard error may have colour.
    pub(super) err_colour: bool,
    /// Standard error can show a line that changes.
    live: bool,
    /// Who reads standard error.
    pub(super) notes: Form,
}

impl Terminal {
    pub(super) fn of_process(colour: ColourChoice, notes: Form) -> Self {
        let (out, err) = (std::io::stdout().is_terminal(), std::io::stderr().is_terminal());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let coloured = |terminal: bool| match colour {
            ColourChoice::Auto => terminal && !dumb && !unwanted,
            ColourChoice::Always => true,
            ColourChoice::Never => false,
        };
        let live = err && !dumb && notes == Form::People;
        let (out_colour, err_colour) = (coloured(out), coloured(err));
        Terminal { width: width(out), out_colour, err_colour, live, notes }
    }

    /// Shows a line that the next one replaces; nothing where lines cannot be replaced.
    pub(super) fn show(&self, line: &str) {
        if self.live {
            let most = self.width.unwrap_or(80).saturating_sub(1);
            let line: String = on_one_line(&redacted(line)).chars().take(most).collect();
            // A terminal that is gone ends us by a signal soon enough.
            let mut err = std::io::stderr();
            write!(err, "\r\x1b[2K{line}").and_then(|()| err.flush()).ok();
        }
    }

    /// Removes the line that was shown.
    pub(super) fn clear(&self) {
        self.show("");
    }

    /// True when [`Terminal::show`] shows anything.
    pub(super) fn is_live(&self) -> bool {
        self.live
    }

    /// A text of standard error that stands out.
    pub(super) fn bold(&self, text: &str) -> String {
        if self.err_colour { painted("1", text) } else { text.to_owned() }
    }

    /// A text of standard output in the colour of an escape code.
    pub(super) fn painted(&self, code: &str, text: &str) -> String {
        if self.out_colour { painted(code, text) } else { text.to_owned() }
    }
}

/// For whom data is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    People,
    Programs,
}

/// A line on standard error, without known secrets and without what would steer a terminal. A server goes on when
/// nobody reads what it says.
pub(super) fn note(line: &str) {
    writeln!(std::io::stderr(), "{}", printable(&redacted(line))).ok();
}

/// A line of data on standard output, without what would steer a terminal. Whoever stops reading has enough.
pub(super) fn print_line(line: &str) {
    writeln!(std::io::stdout(), "{}", printable(line)).ok();
}

fn painted(code: &str, text: &str) -> String {
    format!("\x1b[{code}m{text}\x1b[0m")
}

fn width(terminal: bool) -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let size = || rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    told.or_else(|| terminal.then(size).flatten()).filter(|width| *width > 0)
}
