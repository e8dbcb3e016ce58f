//! Our side of the watcher, a process that outlives this one by a moment and kills what we could not: it is told the
//! process groups of our children by a file in memory, and that we have ended by the end of a pipe, which no way of
//! ending can keep back. There is one watcher per process, started with the first child.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::Pid;

use super::family::OF_PROCESS;
use super::watcher::{ARGUMENT, CAN_WATCH, FILE, SLOT};

/// Whether the log says that there is no watcher; once is enough.
static TOLD: AtomicBool = AtomicBool::new(false);
/// One per process, as its end is what is watched.
static WATCH: Mutex<Option<Watch>> = Mutex::new(None);

struct Watch {
    watcher: Child,
    /// Slots of one group each; 0 is a free one.
    groups: File,
    free: Vec<u64>,
    slots: u64,
}

/// Makes sure that the watcher runs. Call it before a child is started, so that there is no moment in which a child
/// runs and nobody would kill it. Without a watcher children are started all the same.
pub(crate) fn start() {
    if !CAN_WATCH.load(Ordering::Relaxed) {
        return;
    }
    let mut watch = lock();
    let alive = |watch: &mut Watch| matches!(watch.watcher.try_wait(), Ok(None));
    if watch.as_mut().is_some_and(alive) {
        return;
    }
    let started = match watch.as_mut() {
        Some(known) => launch(&known.groups).map(|watcher| known.watcher = watcher),
        None => Watch::new().map(|new| *watch = Some(new)),
    };
    if let Err(error) = started
        && !TOLD.swap(true, Ordering::Relaxed)
    {
        tracing::warn!(%error, "cannot start the child watcher: if this process is killed, its children are not");
    }
}

/// A process group that the watcher kills when this process ends before this value is dropped.
pub(crate) struct Watched {
    slot: Option<u64>,
}

impl Watched {
    pub(crate) fn new(group: Option<Pid>) -> Self {
        let slot = group.and_then(|group| lock().as_mut()?.add(group));
        Watched { slot }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let (Some(slot), Some(watch)) = (self.slot, lock().as_mut()) {
            watch.remove(slot);
        }
    }
}

impl Watch {
    fn new() -> io::Result<Self> {
        let groups = File::from(memfd_create(FILE, MemfdFlags::CLOEXEC)?);
        Ok(Watch { watcher: launch(&groups)?, groups, free: Vec::new(), slots: 0 })
    }

    fn add(&mut self, group: Pid) -> Option<u64> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        let bytes = group.as_raw_nonzero().get().to_ne_bytes();
        match self.groups.write_all_at(&bytes, slot * SLOT as u64) {
            Ok(()) => Some(slot),
            Err(_) => {
                self.free.push(slot);
                None
            }
        }
    }

    fn remove(&mut self, slot: u64) {
        // The number may name another group later on. Where a slot was written once it can be written again.
        if self.groups.write_all_at(&[0; SLOT], slot * SLOT as u64).is_ok() {
            self.free.push(slot);
        }
    }
}

/// Starts this program again as the watcher. It keeps nothing of ours: no terminal, no folder, no environment; a group
/// of its own, so that Ctrl-C does not reach it; and no name of ours, so that whoever kills us by name spares it.
fn launch(groups: &File) -> io::Result<Child> {
    Command::new("/proc/self/exe")
        .arg0(ARGUMENT)
        .args([ARGUMENT, OF_PROCESS.as_str()])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(groups.try_clone()?)
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

fn lock() -> MutexGuard<'static, Option<Watch>> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}
