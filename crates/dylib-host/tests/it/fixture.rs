//! Compiles the fixture library once per run, with the system's C compiler.

use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::LazyLock;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixture/fixture.c");

static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let fresh = folder.join(format!("fixture-{}.so", process::id()));
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-w", "-pthread", SOURCE, "-o"])
        .arg(&fresh)
        .status()
        .expect("a C compiler is installed as `cc`");
    assert!(status.success());
    // A run beside this one may have the old file loaded: replace it, never write into it.
    let library = folder.join("fixture.so");
    std::fs::rename(&fresh, &library).unwrap();
    library
});

pub(crate) fn library() -> &'static Path {
    &LIBRARY
}
