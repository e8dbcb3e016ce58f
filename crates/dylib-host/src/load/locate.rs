//! From the name in a plan to a file.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::LibraryError;
use super::loader_cache;

const LOADER_CACHE: &str = "/etc/ld.so.cache";

/// Where libraries live on systems whose loader has no index.
const FOLDERS: [&str; 5] = ["/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib"];

/// The file that `library` means. A name with a slash is a path; any other is looked up as the loader would.
pub(crate) fn locate(library: &str) -> Result<PathBuf, LibraryError> {
    let path = if library.contains('/') { PathBuf::from(library) } else { look_up(library)? };
    path.canonicalize().map_err(|source| LibraryError::Unreadable { path, source })
}

/// Every folder that may hold a library which another one needs.
pub(crate) fn system_folders() -> Vec<PathBuf> {
    let mut folders: Vec<_> = FOLDERS.iter().map(PathBuf::from).collect();
    folders.extend(cached().into_iter().filter_map(|entry| entry.path.parent().map(Path::to_owned)));
    folders.sort();
    folders.dedup();
    folders
}

/// The names that the loader's index holds, in its order.
pub fn loadable_names() -> Vec<String> {
    cached().into_iter().map(|entry| entry.name).collect()
}

fn look_up(name: &str) -> Result<PathBuf, LibraryError> {
    let indexed = cached().into_iter().filter(|entry| entry.name == name).map(|entry| entry.path);
    let in_folders = FOLDERS.iter().map(|folder| Path::new(folder).join(name));
    indexed
        .chain(in_folders)
        .find(|path| path.is_file())
        .ok_or_else(|| LibraryError::NotFound(name.to_owned()))
}

fn cached() -> Vec<loader_cache::Entry> {
    fs::read(LOADER_CACHE).map(|bytes| loader_cache::parse(&bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_found_where_the_loader_finds_it() {
        let path = locate("libm.so.6").unwrap();
        assert!(path.is_file());
        assert!(path.to_string_lossy().contains("libm"), "{path:?}");
    }

    #[test]
    fn an_unknown_name_is_named() {
        let error = locate("libnothing.so.9").unwrap_err();
        assert_eq!(error.to_string(), "no library `libnothing.so.9` where the system looks for libraries");
    }
}
