//! Where log lines go, without the secrets that are known and without what would steer a terminal.

use std::io::{self, Write};

use toolmux_core::redact::redacted;

use crate::printable::log_line;

/// Takes whole lines, as the log writes them.
pub(crate) struct RedactedLog<W>(pub(crate) W);

impl<W: Write> Write for RedactedLog<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(log_line(&redacted(&String::from_utf8_lossy(line))).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
