//! Keys of this server that are kept in files: made when they are not there, and readable by their owner alone.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, bail};

/// The text in the file of a key; `what` is what faults call it, and `make` gives a new one.
pub(crate) fn read_or_make(
    path: &Path,
    what: &str,
    make: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    let named = || format!("the {what} in `{}`", path.display());
    let mut options = fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let text = make()?;
            file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(named)?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).with_context(named),
    }
    let mode = fs::metadata(path).with_context(named)?.permissions().mode();
    if mode & 0o077 != 0 {
        bail!("{} can be read by others: chmod 600 it", named());
    }
    fs::read_to_string(path).map(|text| text.trim().to_owned()).with_context(named)
}
