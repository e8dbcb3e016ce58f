//! Finding a library file and looking into it before any of its code runs.

mod error;
mod loader_cache;
mod locate;
mod symbols;

pub use error::LibraryError;
pub use locate::loadable_names;
pub(crate) use locate::{locate, system_folders};
pub(crate) use symbols::exported;
