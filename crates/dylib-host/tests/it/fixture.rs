//! The fixture library, compiled once per run.

#[path = "../fixture/compile.rs"]
mod compile;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static LIBRARY: LazyLock<PathBuf> =
    LazyLock::new(|| compile::compile(Path::new(env!("CARGO_TARGET_TMPDIR"))));

pub(crate) fn library() -> &'static Path {
    &LIBRARY
}
