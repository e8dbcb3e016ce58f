//! Child processes: a group of their own, a clean environment, and an end with all their descendants, however this
//! process ends.

mod family;
mod group;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
mod watcher;

pub(crate) use self::group::ChildGroup;
#[cfg(target_os = "linux")]
pub use self::watcher::become_watcher_if_asked;

/// Elsewhere children are killed by whatever ends this process in an orderly way, and only then.
#[cfg(not(target_os = "linux"))]
pub fn become_watcher_if_asked() {}
#[cfg(not(target_os = "linux"))]
#[path = "unwatched.rs"]
mod watch;
