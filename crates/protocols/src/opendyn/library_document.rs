//! A document of the functions that a header declares and a library really has.

use std::path::Path;

use serde_json::{Value, json};
use toolmux_dylib_host::error_chain;

use super::header::{Comments, Described, describe};
use super::source::missing;
use crate::registry::OpenError;

/// A document, and what became of the functions that are not in it.
pub struct LibraryDocument {
    /// An OpenDyn document of the functions that can be called.
    pub document: Value,
    /// What came of the declarations of the header.
    pub functions: Described,
    /// Functions that the header declares and the library does not have, with the reason.
    pub missing: Vec<(String, String)>,
}

/// Describes a header; a worker loads the library to see which of the functions it really has. The worker is this
/// program: its `main` must begin with [`become_worker_if_asked`](super::become_worker_if_asked).
pub async fn describe_library(
    header: &Path,
    library: &Path,
    comments: Comments,
    wanted: &(dyn Fn(&str) -> bool + Sync),
) -> Result<LibraryDocument, OpenError> {
    let mut functions = describe(header, comments, wanted).await.map_err(|error| {
        OpenError::new(format!("cannot describe `{}`: {}", header.display(), error_chain(&error)))
    })?;
    let worker = std::env::current_exe()
        .map_err(|error| OpenError::new(format!("this program cannot find its own file: {error}")))?;
    let whole = document(header, &functions.ready).to_string();
    let missing = missing(&whole, library, worker).await.map_err(|error| {
        OpenError::new(error.message().public)
            .hint("name the file that the loader finds, such as `libz.so.1`, not `libz.so`")
    })?;
    functions.ready.retain(|function| !missing.iter().any(|(name, _)| function["name"] == **name));
    Ok(LibraryDocument { document: document(header, &functions.ready), functions, missing })
}

fn document(header: &Path, functions: &[Value]) -> Value {
    let title = header.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let info = json!({ "title": title, "version": "1.0.0", "callingConvention": "cdecl" });
    json!({ "opendyn": "1.0.0", "info": info, "functions": functions })
}
