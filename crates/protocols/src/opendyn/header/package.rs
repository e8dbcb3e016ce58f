//! Which of the included files belong to the library that is described, and which are only needed for their types.

use std::path::{Path, PathBuf};

/// Folders that the headers of many libraries share.
const ROOTS: [&str; 4] = ["/usr/include", "/usr/local/include", "/usr/include/linux", "/usr/include/c++"];

/// The headers that were named, as the preprocessor calls them.
pub(super) struct Package {
    headers: Vec<PathBuf>,
    /// Further folders that may hold headers of many libraries.
    shared: Vec<PathBuf>,
}

impl Package {
    /// `includes` are the folders of `-I`.
    pub(super) fn new(headers: &[PathBuf], includes: &[PathBuf]) -> Self {
        Package { headers: headers.to_vec(), shared: includes.to_vec() }
    }

    /// Whether a file is one of the headers or is included as a part of the same package.
    pub(super) fn owns(&self, file: &str) -> bool {
        let file = Path::new(file);
        self.headers.iter().any(|header| file == header || self.is_part(header, file))
    }

    /// Of a header in a folder of its own, all in that folder; of one in a shared folder, what carries its name:
    /// `git2/*.h` of `git2.h`, `cmark_version.h` of `cmark.h`.
    fn is_part(&self, header: &Path, file: &Path) -> bool {
        let folder = header.parent().unwrap_or(Path::new(""));
        let Ok(within) = file.strip_prefix(folder) else { return false };
        // A header without a folder is here, and files of the system are not.
        if within.is_absolute() {
            return false;
        }
        if !self.is_shared(folder) {
            return true;
        }
        let stem = header.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let Some(first) = within.components().next().and_then(|first| first.as_os_str().to_str()) else {
            return false;
        };
        first == stem || first.starts_with(&format!("{stem}_")) || first.starts_with(&format!("{stem}-"))
    }

    fn is_shared(&self, folder: &Path) -> bool {
        let is_root = ROOTS.iter().any(|root| Path::new(root) == folder);
        // `/usr/include/x86_64-linux-gnu`
        let is_machine = folder.parent() == Some(Path::new("/usr/include"))
            && folder.file_name().is_some_and(|name| name.to_string_lossy().contains("-linux-"));
        is_root || is_machine || self.shared.iter().any(|shared| shared == folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_package_are_followed() {
        for (header, file, expect) in [
            ("/usr/include/git2.h", "/usr/include/git2/blob.h", true),
            ("/usr/include/git2.h", "/usr/include/stdlib.h", false),
            ("/usr/include/cmark.h", "/usr/include/cmark_version.h", true),
            ("/usr/include/zlib.h", "/usr/include/zlibrary.h", false),
            ("/usr/include/x86_64-linux-gnu/curl/curl.h", "/usr/include/x86_64-linux-gnu/curl/easy.h", true),
            ("/usr/include/x86_64-linux-gnu/gmp.h", "/usr/include/x86_64-linux-gnu/bits/types.h", false),
            ("./notes.h", "./notes_types.h", true),
            ("notes.h", "/usr/include/stdio.h", false),
        ] {
            assert_eq!(Package::new(&[header.into()], &[]).owns(file), expect, "{header} {file}");
        }
    }
}
