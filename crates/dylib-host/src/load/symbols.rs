//! Which functions a library file exports itself. `dlsym` would also find those of the libraries it
//! needs: through zlib one could call `system`.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use object::{Architecture, Object, ObjectKind, ObjectSymbol, ReadCache, SymbolKind};

use super::error::LibraryError;

/// Those of the `wanted` functions and variables that the file defines. Fails on files that this machine cannot load.
pub(crate) fn exported<'a>(
    path: &Path,
    wanted: &HashSet<&'a str>,
    variables: &HashSet<&str>,
) -> Result<HashSet<&'a str>, LibraryError> {
    let unreadable = |source| LibraryError::Unreadable { path: path.to_owned(), source };
    let cache = ReadCache::new(File::open(path).map_err(unreadable)?);
    let Ok(object) = object::File::parse(&cache) else { return Err(not_a_library(path)) };
    if object.kind() != ObjectKind::Dynamic {
        return Err(LibraryError::NotALibrary(path.to_owned()));
    }
    check_architecture(path, object.architecture())?;
    let is_meant = |kind: SymbolKind, name: &str| match kind {
        SymbolKind::Text => !variables.contains(name),
        SymbolKind::Data => variables.contains(name),
        _ => false,
    };
    Ok(object
        .dynamic_symbols()
        .filter(|symbol| !symbol.is_undefined() && !symbol.is_local())
        .filter_map(|symbol| {
            let name = symbol.name().ok()?;
            wanted.get(name).copied().filter(|_| is_meant(symbol.kind(), name))
        })
        .collect())
}

fn check_architecture(path: &Path, found: Architecture) -> Result<(), LibraryError> {
    let needed = std::env::consts::ARCH;
    let fits = match needed {
        "x86_64" => found == Architecture::X86_64,
        "aarch64" => found == Architecture::Aarch64,
        "riscv64" => found == Architecture::Riscv64,
        // The loader is left to judge where we do not know the name.
        _ => true,
    };
    let path = path.to_owned();
    if fits {
        Ok(())
    } else {
        Err(LibraryError::WrongArchitecture { path, found: format!("{found:?}"), needed })
    }
}

/// `libm.so` and `libc.so` of a development package are texts for the linker that name the library.
fn not_a_library(path: &Path) -> LibraryError {
    let mut head = Vec::new();
    let _ = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head));
    let head = String::from_utf8_lossy(&head);
    let Some((_, group)) = head.split_once("GROUP").or_else(|| head.split_once("INPUT")) else {
        return LibraryError::NotALibrary(path.to_owned());
    };
    let target = group.split([' ', '(', ')']).find(|word| word.contains(".so")).map(str::to_owned);
    LibraryError::LinkerScript { path: path.to_owned(), target }
}
