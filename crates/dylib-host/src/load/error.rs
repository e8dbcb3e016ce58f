//! Why a library as a whole cannot be used.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum LibraryError {
    #[error("no library `{0}` where the system looks for libraries")]
    NotFound(String),
    #[error("cannot read the library `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("`{}` is a linker script, not a library{}", path.display(), naming(target.as_deref()))]
    LinkerScript { path: PathBuf, target: Option<String> },
    #[error("`{}` is not a shared library", .0.display())]
    NotALibrary(PathBuf),
    #[error("`{}` is made for {found}, this machine needs {needed}", path.display())]
    WrongArchitecture { path: PathBuf, found: String, needed: &'static str },
    #[error("the loader refused `{}`", path.display())]
    Refused { path: PathBuf, source: libloading::Error },
    #[error("the sandbox of the library cannot be enforced on this machine")]
    Sandbox(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("cannot prepare the worker")]
    Worker(#[source] io::Error),
}

fn naming(target: Option<&str>) -> String {
    target.map(|target| format!("; name `{target}` instead")).unwrap_or_default()
}
