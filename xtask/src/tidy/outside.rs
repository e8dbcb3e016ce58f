//! A clone alone is enough: no path that is written in a file of the project leaves the project.

use std::path::Path;

use crate::tidy::finding::Finding;
use crate::tidy::tracked::Tracked;

// Put together here, so that this file does not find itself.
const MANIFEST: &str = concat!("CARGO_MANIFEST", "_DIR");
const REMEDY: &str = "keep what is needed in the project: a clone alone must be enough";

pub(crate) fn check(file: &Tracked, root: &Path) -> Vec<Finding> {
    let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
    let (depth, crate_depth) = (folder.components().count(), crate_depth(folder, root));
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        let base = if line.contains(MANIFEST) { crate_depth } else { depth };
        let leaving = words(line).filter(|word| climbs(word) > base);
        let mut whats: Vec<String> = leaving.map(|word| format!("`{word}` leaves the project")).collect();
        if line.contains(MANIFEST) && line.contains(concat!(".ances", "tors()")) {
            whats.push("looks into folders above the project".to_owned());
        }
        if parent_index(line).is_some_and(|index| index > depth) {
            whats.push("a parent above the project".to_owned());
        }
        findings.extend(whats.into_iter().map(|what| Finding::new(&file.path, number, what, REMEDY)));
    }
    findings
}

/// How deep the folder of the nearest manifest is, at or above a folder.
fn crate_depth(folder: &Path, root: &Path) -> usize {
    let with_manifest = folder.ancestors().find(|above| root.join(above).join("Cargo.toml").is_file());
    with_manifest.map_or(0, |above| above.components().count())
}

/// What may be a path: with a slash or, between quotes, alone.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let in_path = |character: char| character.is_alphanumeric() || "._-~$*@+%/".contains(character);
    let quoted = line.split(['"', '\'']).filter(|text| *text == "..");
    line.split(move |character| !in_path(character)).filter(|word| word.contains('/')).chain(quoted)
}

/// How many folders a path climbs above the one where it begins. An absolute path climbs none, unless the slash
/// follows a folder that is put before it, as in `concat!(…, "/../x")`.
fn climbs(path: &str) -> usize {
    let mut parts = path.split('/').filter(|part| !part.is_empty() && *part != ".").peekable();
    if path.starts_with('/') && parts.peek() != Some(&"..") {
        return 0;
    }
    let (mut depth, mut climbed) = (0_usize, 0);
    for part in parts {
        match (part, depth) {
            ("..", 0) => climbed += 1,
            ("..", _) => depth -= 1,
            _ => depth += 1,
        }
    }
    climbed
}

/// The index in `Path(__file__).parents[3]` of Python.
fn parent_index(line: &str) -> Option<usize> {
    line.split_once(concat!(".parents", "["))?.1.split_once(']')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::check as inspect;
    use crate::tidy::finding::brief;
    use crate::tidy::tracked::Tracked;
    use std::fs;

    /// A file `crates/a/tests/x.rs`, where `crates/a` has a manifest; `UP` stands for two dots.
    fn check(line: &str, expect: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("crates/a")).unwrap();
        fs::write(root.path().join("crates/a/Cargo.toml"), "").unwrap();
        let text = line.replace("UP", "..").replace("MANIFEST", super::MANIFEST);
        let file = Tracked { path: "crates/a/tests/x.rs".to_owned(), text };
        let expect: Vec<String> = expect.iter().map(|line| line.replace("UP", "..")).collect();
        assert_eq!(brief(inspect(&file, root.path())), expect, "{line}");
    }

    #[test]
    fn paths_within_the_project_are_fine() {
        check(r#"include_str!("UP/UP/UP/examples/a.json")"#, &[]);
        check(r#"concat!(env!("MANIFEST"), "/UP/UP/tests/x.py")"#, &[]);
        check(r#"path.join("a/b/UP/UP/UP/UP/UP/c")"#, &[]);
        check("/usr/lib/UP/UP/UP/UP/etc and https://example.org/UP/UP/UP/UP/x", &[]);
        check("for index in 0..4 { &text[..] } // and so on... {\"a\": ...}", &[]);
        check("Path(__file__).parentsX[3]", &[]);
    }

    #[test]
    fn paths_that_leave_it_are_found() {
        let one = "1: `UP/UP/UP/UP/specs` leaves the project";
        check(r#"read("UP/UP/UP/UP/specs")"#, &[one]);
        check(
            r#"concat!(env!("MANIFEST"), "/UP/UP/UP/specs")"#,
            &["1: `/UP/UP/UP/specs` leaves the project"],
        );
        check("cd \"$(dirname \"$0\")/UP/UP/UP/UP\"", &["1: `/UP/UP/UP/UP` leaves the project"]);
        check("cp a/UP/UP/UP/UP/UP/b .", &["1: `a/UP/UP/UP/UP/UP/b` leaves the project"]);
    }

    #[test]
    fn looking_into_folders_above_is_found() {
        let ancestors = concat!("Path::new(env!(\"MANIFEST\")).ances", "tors()");
        check(ancestors, &["1: looks into folders above the project"]);
        check(concat!("Path(__file__).parents", "[2]"), &[]);
        check(concat!("Path(__file__).parents", "[4]"), &["1: a parent above the project"]);
    }
}
