//! Who has a SQLite file open. Every server holds a shared lock on a file next to it, which the operating system releases when
//! the server dies: whoever gets the lock exclusively knows at once that all who ever held records are gone.

use std::fs::{File, OpenOptions, Permissions, TryLockError, canonicalize};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How often we try again while another server has the lock exclusively, which it has for a moment when it starts.
const TRY_AGAIN: Duration = Duration::from_millis(10);
/// How long that may take before the log says that we wait.
const UNUSUAL: Duration = Duration::from_secs(1);

/// Our place among those who have a database open. Dropping it closes the file, which releases the lock.
pub(crate) struct Presence {
    lock: File,
    path: PathBuf,
}

/// Somebody holds the lock exclusively for longer than a server that starts.
#[derive(Debug, thiserror::Error)]
#[error("another process holds a lock on `{path}` and does not release it", path = .0.display())]
pub(crate) struct LockHeld(PathBuf);

impl Presence {
    /// Opens the file of the lock without locking it. The path is that of the database itself, whatever links lead to it:
    /// servers that name one database in two ways must meet at one lock.
    pub(crate) fn at(database: &Path) -> io::Result<Self> {
        let database = canonicalize(database)?;
        let mut name = database.as_os_str().to_owned();
        name.push("-servers");
        let path = PathBuf::from(name);
        let mode = mode_of_lock(&database)?;
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).read(true).write(true).mode(mode).open(&path)?;
        // One of an earlier version may be open to all. Only its owner can change that.
        if lock.metadata()?.permissions().mode() & 0o777 != mode {
            lock.set_permissions(Permissions::from_mode(mode)).ok();
        }
        Ok(Presence { lock, path })
    }

    /// True when nobody else is there. The lock is exclusive then, and nobody enters until [`Presence::enter`] has made it
    /// shared.
    pub(crate) fn is_alone(&self) -> io::Result<bool> {
        match self.lock.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Ends when others know that we are there; an error when somebody keeps us out for longer than `patience`.
    pub(crate) async fn enter(&self, patience: Duration) -> io::Result<()> {
        // A lock cannot be made shared in one step everywhere. Whoever gets it exclusively in between takes us for dead, which
        // does no harm: we hold nothing yet, and have written no lease.
        self.lock.unlock()?;
        let (began, mut told) = (Instant::now(), false);
        loop {
            match self.lock.try_lock_shared() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) if began.elapsed() >= patience => {
                    return Err(io::Error::new(io::ErrorKind::ResourceBusy, LockHeld(self.path.clone())));
                }
                Err(TryLockError::WouldBlock) => {
                    if began.elapsed() >= UNUSUAL && !std::mem::replace(&mut told, true) {
                        tracing::warn!(
                            "waiting for the lock on `{}`, which another process holds",
                            self.path.display()
                        );
                    }
                    sleep(TRY_AGAIN).await;
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    pub(crate) fn leave(&self) {
        self.lock.unlock().ok();
    }
}

/// Whoever may write the database may have it open, and needs the lock; whoever can open the lock can hold it.
fn mode_of_lock(database: &Path) -> io::Result<u32> {
    let mode = std::fs::metadata(database)?.permissions().mode();
    let others = [0o060, 0o006].into_iter().filter(|class| mode & class & 0o022 != 0).sum::<u32>();
    Ok(0o600 | others)
}
