//! Who has a SQLite file open. Every server shares a lock on a file beside it, which the system takes from the
//! dead: whoever finds nobody there knows at once that all who ever held records are gone.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;

/// How often we look whether one who came before us is done looking around.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Ours among those who have a database open, as long as this is not dropped.
pub(crate) struct Presence(File);

impl Presence {
    /// Opens the door, but does not enter.
    pub(crate) fn at(database: &Path) -> io::Result<Self> {
        let mut name = database.as_os_str().to_owned();
        name.push("-servers");
        let options = OpenOptions::new().create(true).truncate(false).read(true).write(true).clone();
        options.open(PathBuf::from(name)).map(Presence)
    }

    /// True when nobody else is there, and nobody comes in until [`Presence::enter`].
    pub(crate) fn is_alone(&self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Ends when others know that we are there.
    pub(crate) async fn enter(&self) -> io::Result<()> {
        self.0.unlock()?;
        loop {
            match self.0.try_lock_shared() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => sleep(LOOK_AGAIN).await,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    pub(crate) fn leave(&self) {
        self.0.unlock().ok();
    }
}
