//! The file that was meant by a path where none is.

use std::path::Path;

use toolmux_core::nearest::nearest;

/// How many files of a folder are looked at.
const MOST_FILES: usize = 2_000;

/// The path of a file in the same folder whose name is near enough to be meant.
pub(crate) fn near_file(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names: Vec<String> = entries
        .flatten()
        .take(MOST_FILES)
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let near = nearest(wanted, names.iter().map(String::as_str))?;
    Some(folder.map_or_else(|| near.to_owned(), |folder| folder.join(near).display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_path_finds_its_neighbour() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("toolmux.toml"), "").expect("written");
        let near = near_file(&folder.path().join("toolmx.toml"));
        assert_eq!(near, Some(folder.path().join("toolmux.toml").display().to_string()));
        assert_eq!(near_file(&folder.path().join("quux")), None);
        assert_eq!(near_file(Path::new("/nowhere/at/all")), None);
    }
}
