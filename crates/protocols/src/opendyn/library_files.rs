//! The files of a C library: which names are those of libraries and headers, the library of a document or a header, and
//! the header of a library.

use std::path::{Path, PathBuf};

use toolmux_dylib_host::loadable_names;

use crate::registry::OpenError;

/// Where headers of the system are.
const HEADERS: [&str; 2] = ["/usr/include", "/usr/local/include"];

/// `libz.so`, `libz.so.1.2`, `libz.dylib`.
pub(super) fn is_library(file: &Path) -> bool {
    let ending = file.extension();
    ending.is_some_and(|ending| ending == "so" || ending == "dylib") || file_name(file).contains(".so.")
}

/// Such as `zlib.h`.
pub(super) fn is_header(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "h")
}

/// The library that the name of a document means: beside it, or one that the loader knows.
pub(super) fn library_of_document(document: &Path) -> Result<PathBuf, OpenError> {
    by_name(document).ok_or_else(|| no_library(document, "an OpenDyn document"))
}

/// The same for a header.
pub(super) fn library_of_header(header: &Path) -> Result<PathBuf, OpenError> {
    by_name(header).ok_or_else(|| no_library(header, "a C header"))
}

fn no_library(file: &Path, what: &str) -> OpenError {
    let name = file.display();
    OpenError::new(format!("`{name}` is {what}, and there is no library of that name"))
        .hint(format!("name the library after it: {name} libNAME.so.1"))
}

/// The header of a library: beside it, in an `include` folder near it, or among those of the system.
pub(super) fn header_of(library: &Path) -> Result<PathBuf, OpenError> {
    let whole = stem(library);
    let short = whole.strip_prefix("lib").unwrap_or(&whole);
    let names = [format!("{whole}.h"), format!("{short}.h"), format!("{short}lib.h")];
    let folder = library.parent().unwrap_or(Path::new(""));
    let mut folders = vec![folder.to_owned(), folder.join("include"), folder.join("../include")];
    folders.extend(HEADERS.map(PathBuf::from));
    let candidates = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
    candidates.map(|header| absolute(&header)).find(|header| header.is_file()).ok_or_else(|| {
        let library = library.display();
        OpenError::new(format!("no header of `{library}` in its folder (looked for {})", names.join(", ")))
            .hint(format!("name the header after it: {library} NAME.h"))
    })
}

/// `libz` of `/usr/lib/libz.so.1`.
fn stem(file: &Path) -> String {
    file_name(file).split('.').next().unwrap_or_default().to_owned()
}

fn by_name(described: &Path) -> Option<PathBuf> {
    let stem = stem(described);
    let bases =
        [stem.clone(), format!("lib{stem}"), format!("lib{}", stem.strip_suffix("lib").unwrap_or(&stem))];
    let is_meant = |file: &str| bases.iter().any(|base| is_library_called(base, file));
    let folder = described.parent().unwrap_or(Path::new("."));
    let beside = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut beside: Vec<_> =
        beside.map(|entry| entry.path()).filter(|path| is_meant(&file_name(path))).collect();
    beside.sort();
    let mut known: Vec<String> = loadable_names().into_iter().filter(|name| is_meant(name)).collect();
    // `libm.so` may be a text for linkers; `libm.so.6` is a library.
    known.sort_by_key(|name| (name.contains(".so."), name.len(), name.clone()));
    beside.pop().map(|path| absolute(&path)).or_else(|| known.pop().map(PathBuf::from))
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The whole path of a file that is there.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn is_library_called(base: &str, file: &str) -> bool {
    let rest = file.strip_prefix(base);
    rest.is_some_and(|rest| rest == ".so" || rest == ".dylib" || rest.starts_with(".so."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(document: &str, expect: Option<&str>) {
        let found = by_name(Path::new(document));
        assert_eq!(found.as_deref().and_then(Path::to_str), expect, "{document}");
    }

    #[test]
    fn documents_lead_to_libraries_of_the_system() {
        check("libm.opendyn.json", Some("libm.so.6"));
        check("zlib.opendyn.json", Some("libz.so.1"));
        check("nothing-of-that-name.json", None);
    }

    #[test]
    fn a_library_beside_its_document_comes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("libm.so");
        std::fs::write(&library, "").expect("written");
        let found = by_name(&folder.path().join("m.opendyn.json"));
        assert_eq!(found, Some(library));
    }
}
