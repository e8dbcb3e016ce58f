//! Maps of files: what a README says about the files of its folder names each of them, and none that is not there.

use std::collections::BTreeSet;

use crate::tidy::finding::Finding;
use crate::tidy::tracked::Tracked;

const PROTOCOLS: &str = "crates/protocols/src/";
/// Files that only declare what others hold.
const DECLARING: [&str; 2] = ["mod.rs", "lib.rs"];

const WRITE: &str = "write one with a table whose first column is `file`";
const NAME: &str = "name it, or a folder around it, in the table whose first column is `file`";
const MEND: &str = "mend the map";

pub(crate) fn check(files: &[Tracked]) -> Vec<Finding> {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut findings = Vec::new();
    for folder in mapped_folders(&paths) {
        let readme = format!("{folder}README.md");
        match files.iter().find(|file| file.path == readme) {
            Some(readme) => findings.extend(compare(readme, &folder, &paths)),
            None => findings.push(Finding::new(&readme, 1, "a folder without a map of its files", WRITE)),
        }
    }
    findings
}

/// Crates, protocol folders, and other folders of the code that have a README. Each ends with `/`.
fn mapped_folders(paths: &BTreeSet<&str>) -> BTreeSet<String> {
    let is_code = |path: &&&str| path.starts_with("crates/") || path.starts_with("xtask/");
    let within = |path: &str| {
        let (folder, name) = path.rsplit_once('/')?;
        let is_protocol =
            name == "mod.rs" && folder.strip_prefix(PROTOCOLS).is_some_and(|rest| !rest.contains('/'));
        (is_protocol || matches!(name, "README.md" | "Cargo.toml")).then(|| format!("{folder}/"))
    };
    paths
        .iter()
        .filter(is_code)
        .filter_map(|path| within(path))
        .filter(|folder| !folder.contains("/tests/"))
        .collect()
}

fn compare(readme: &Tracked, folder: &str, paths: &BTreeSet<&str>) -> Vec<Finding> {
    let code = format!("{folder}src/");
    let base = if paths.iter().any(|path| path.starts_with(&code)) { code.as_str() } else { folder };
    let Some(map) = read(readme) else {
        return vec![Finding::new(&readme.path, 1, "there is no map of files", WRITE)];
    };
    let exists = |name: &str| match name.strip_suffix('/') {
        Some(_) => paths.iter().any(|path| path.starts_with(&format!("{base}{name}"))),
        None => paths.contains(format!("{base}{name}").as_str()),
    };
    let elsewhere = |name: &str| name.starts_with("../") || name.starts_with('/');
    let absent = map.iter().filter(|(_, name)| !elsewhere(name) && !exists(name));
    let mut findings: Vec<Finding> = absent
        .map(|(line, name)| Finding::new(&readme.path, *line, format!("there is no `{name}`"), MEND))
        .collect();
    let missing = paths.iter().filter_map(|path| path.strip_prefix(base)).filter(|file| {
        file.strip_suffix(".rs").is_some()
            && !DECLARING.contains(&file.rsplit('/').next().unwrap_or(file))
            && !is_named(file, &map)
            && !has_own_map(base, file, paths)
    });
    let missing: Vec<String> = missing.map(|file| format!("`{file}`")).collect();
    if !missing.is_empty() {
        let what = format!("the map does not name {}", missing.join(", "));
        findings.push(Finding::new(&readme.path, map.first().map_or(1, |(line, _)| *line), what, NAME));
    }
    findings
}

fn is_named(file: &str, map: &[(usize, String)]) -> bool {
    map.iter().any(|(_, name)| name == file || (name.ends_with('/') && file.starts_with(name.as_str())))
}

/// A folder between the map and the file has a README, which names the file.
fn has_own_map(base: &str, file: &str, paths: &BTreeSet<&str>) -> bool {
    let folders = file.match_indices('/').map(|(end, _)| &file[..=end]);
    folders.into_iter().any(|folder| paths.contains(format!("{base}{folder}README.md").as_str()))
}

/// What stands in backticks in the first column of the tables whose first column is `file`, with its line.
fn read(readme: &Tracked) -> Option<Vec<(usize, String)>> {
    let mut names: Option<Vec<(usize, String)>> = None;
    let mut in_map = false;
    for (number, line) in readme.lines() {
        let first = line.trim().strip_prefix('|').and_then(|row| row.split('|').next()).map(str::trim);
        match first {
            Some("file") => in_map = true,
            None => in_map = false,
            Some(cell) if in_map => {
                let named = cell.split('`').skip(1).step_by(2).map(|name| (number, name.to_owned()));
                names.get_or_insert_default().extend(named);
            }
            Some(_) => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::check as inspect;
    use crate::tidy::finding::brief;
    use crate::tidy::tracked::Tracked;

    const MAP: &str = "| file | holds |\n|---|---|\n";

    /// A crate with the files that a map has to name, and its README.
    fn check(files: &[&str], rows: &str, expect: &[&str]) {
        let file =
            |path: &str, text: &str| Tracked { path: format!("crates/a/{path}"), text: text.to_owned() };
        let mut tree: Vec<Tracked> = files.iter().map(|path| file(path, "")).collect();
        tree.push(file("Cargo.toml", ""));
        tree.push(file("README.md", &format!("{MAP}{rows}")));
        assert_eq!(brief(inspect(&tree)), expect, "{rows}");
    }

    #[test]
    fn a_map_names_every_file() {
        let files = ["src/lib.rs", "src/call.rs", "src/deep/mod.rs", "src/deep/end.rs"];
        check(&files, "| `call.rs`, `deep/` | calls |\n", &[]);
        check(&files, "| `call.rs` | calls |\n| `deep/mod.rs`, `deep/end.rs` | more |\n", &[]);
        check(&files, "| `call.rs` | calls |\n", &["3: the map does not name `deep/end.rs`"]);
    }

    #[test]
    fn a_map_names_nothing_that_is_not_there() {
        check(
            &["src/call.rs"],
            "| `call.rs`, `gone.rs`, `../README.md` | |\n| `deep/` | |\n",
            &["3: there is no `gone.rs`", "4: there is no `deep/`"],
        );
    }

    #[test]
    fn a_folder_with_a_readme_has_a_map_of_its_own() {
        let files = ["src/call.rs", "src/deep/README.md", "src/deep/end.rs"];
        check(&files, "| `call.rs` | |\n", &["1: there is no map of files"]);
    }

    #[test]
    fn other_tables_are_no_maps() {
        check(&["src/call.rs"], "| `call.rs` | |\n\n| fault | number |\n|---|---|\n| `none.rs` | 1 |\n", &[]);
    }

    #[test]
    fn protocol_folders_have_a_map() {
        let file = Tracked { path: "crates/protocols/src/later/mod.rs".to_owned(), text: String::new() };
        assert_eq!(brief(inspect(&[file])), ["1: a folder without a map of its files"]);
    }
}
