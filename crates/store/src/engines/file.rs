//! Which file a SQLite store has open. When it is removed or another is put in its place, what is written to the
//! open one is lost with this process, so nothing is acknowledged any more.

use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use toolmux_core::message::Message;
use toolmux_core::ports::store::StoreError;

use crate::connections::database::Database;

/// The file at a path, as it was when it was opened.
#[derive(Debug)]
pub(crate) struct OpenFile {
    path: PathBuf,
    device: u64,
    inode: u64,
    /// Set when it is seen to be gone, which cannot be undone: what was written meanwhile is in no file.
    lost: OnceLock<FileLost>,
}

/// The file a store has open is not the one at its path.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the database file `{path}` was {what} while it was open; restart the server", path = path.display())]
pub(crate) struct FileLost {
    path: PathBuf,
    what: &'static str,
}

impl FileLost {
    /// The lost file that an error is about.
    pub(crate) fn of(error: &sqlx::Error) -> Option<&Self> {
        match error {
            sqlx::Error::Configuration(cause) => cause.downcast_ref(),
            _ => None,
        }
    }
}

impl From<&FileLost> for StoreError {
    fn from(lost: &FileLost) -> Self {
        let public = "The file of the record store was removed or replaced; the server must be restarted";
        StoreError::new(Message::public(public).caused_by(lost))
    }
}

impl OpenFile {
    pub(crate) fn at(path: PathBuf) -> std::io::Result<Self> {
        let found = metadata(&path)?;
        Ok(OpenFile { path, device: found.dev(), inode: found.ino(), lost: OnceLock::new() })
    }

    /// An error from the moment on at which the path is seen to name something else.
    pub(crate) fn check(&self) -> Result<(), FileLost> {
        if let Some(lost) = self.lost.get() {
            return Err(lost.clone());
        }
        let what = match metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == (self.device, self.inode) => return Ok(()),
            Ok(_) => "replaced",
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "removed",
            // A folder that cannot be read for a moment says nothing about the file.
            Err(_) => return Ok(()),
        };
        // Of several that see it at once, one initialises and logs; the others get the same error.
        let lost = self.lost.get_or_init(|| {
            let lost = FileLost { path: self.path.clone(), what };
            tracing::error!("{lost}; until then every write is refused");
            lost
        });
        Err(lost.clone())
    }
}

impl Database {
    /// An error when what is written cannot be found again; without a file, never.
    pub(crate) fn file_is_ours(&self) -> Result<(), sqlx::Error> {
        self.file
            .as_ref()
            .map_or(Ok(()), OpenFile::check)
            .map_err(|lost| sqlx::Error::Configuration(lost.into()))
    }
}
