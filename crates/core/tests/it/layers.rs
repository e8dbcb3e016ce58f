//! Who may know whom inside the crate: words, ports, catalogue and sources know neither the gateway nor tasks, and the
//! gateway does not know tasks.

use std::fs;
use std::path::{Path, PathBuf};

/// Lists the targets of all folders.
const EXEMPT: &str = "fuzz_targets.rs";

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// What a file of this folder must not name.
fn forbidden(folder: &str) -> &'static [&'static str] {
    match folder {
        "tasks" => &[],
        "gateway" => &["crate::tasks"],
        _ => &["crate::gateway", "crate::tasks"],
    }
}

#[test]
fn folders_know_each_other_in_one_direction() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&root, &mut all);
    assert!(all.len() > 50, "the files of the crate");
    for path in all.iter().filter(|path| !path.ends_with(EXEMPT)) {
        let below = path.strip_prefix(&root).expect("below the root");
        let folder = below.parent().and_then(|parent| parent.iter().next()).unwrap_or_default();
        let text = fs::read_to_string(path).expect("readable");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            for name in forbidden(&folder.to_string_lossy()) {
                assert!(!line.contains(name), "{}: {line}", below.display());
            }
        }
    }
}
