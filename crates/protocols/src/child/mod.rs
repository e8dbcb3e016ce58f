//! Child processes of sources: their group, their sandbox, and who kills them when this process is killed.

pub(crate) mod exit_status;
mod family;
mod group;
mod sandbox;
mod sandbox_setting;
#[cfg_attr(not(target_os = "linux"), path = "unwatched.rs")]
mod watch;
#[cfg(target_os = "linux")]
mod watcher;

pub(crate) use self::group::{ChildGroup, Program};
pub(crate) use self::sandbox::ChildSandbox;
pub use self::sandbox::{Held, become_launcher_if_asked, sandbox_here};
pub(crate) use self::sandbox_setting::SandboxSetting;
#[cfg(not(target_os = "linux"))]
pub use self::watch::become_watcher_if_asked;
#[cfg(target_os = "linux")]
pub use self::watcher::become_watcher_if_asked;
