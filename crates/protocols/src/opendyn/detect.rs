//! How an OpenDyn document, a C library or a header that is named on a command line becomes a source.

use std::path::Path;

use serde_json::{Value, json};

use toolmux_core::plural::counted;

use super::header::HeaderRequest;
use super::library_document::describe_library;
use super::library_files::{header_of, is_header, is_library, library_of_document, library_of_header};
use crate::registry::{Companion, DetectedSource, Detecting, Detection, FileHook, FilePlace, OpenError};

pub(super) const DETECTION: Detection = Detection {
    file: Some(FileHook { what: "a C library or its header", recognise, takes, source: of_file }),
    ..Detection::NONE
};

/// A document takes the library behind it.
pub(super) fn takes_library(_: &Value, next: &Companion<'_>) -> bool {
    matches!(next, Companion::File(file) if is_library(file))
}

pub(super) fn of_document(
    file: &Path,
    companion: Option<&Companion<'_>>,
) -> Result<DetectedSource, OpenError> {
    let library = match companion {
        Some(Companion::File(library)) => library.to_path_buf(),
        _ => library_of_document(file)?,
    };
    let what = format!("an OpenDyn document of the C library `{}`", library.display());
    let table = json!({ "document": file, "library": library });
    Ok(DetectedSource { what, file: file.to_owned(), table })
}

fn recognise(name: &str) -> Option<FilePlace> {
    let name = Path::new(name);
    let library = is_library(name).then_some(FilePlace::PathOrSystem);
    library.or_else(|| is_header(name).then_some(FilePlace::Path))
}

/// A library takes its header, and a header its library.
fn takes(file: &Path, next: &Companion<'_>) -> bool {
    matches!(next, Companion::File(next)
        if (is_library(file) && is_header(next)) || (is_header(file) && is_library(next)))
}

fn of_file<'a>(file: &'a Path, companion: Option<Companion<'a>>) -> Detecting<'a> {
    Box::pin(async move {
        let named = match companion {
            Some(Companion::File(file)) => Some(file.to_owned()),
            _ => None,
        };
        if is_library(file) {
            let header = named.map_or_else(|| header_of(file), Ok)?;
            described(file, &header).await
        } else {
            let library = named.map_or_else(|| library_of_header(file), Ok)?;
            described(&library, file).await
        }
    })
}

/// The functions of a header, described on the fly.
async fn described(library: &Path, header: &Path) -> Result<DetectedSource, OpenError> {
    let request = HeaderRequest { headers: vec![header.to_owned()], ..HeaderRequest::default() };
    let described = describe_library(&request, library, &Value::Null).await?;
    let ready = counted(described.functions.ready.len(), "function");
    let what = format!("a C library; {ready} of its header `{}` can be called", header.display());
    let table = json!({ "document": described.document, "library": library });
    Ok(DetectedSource { what, file: library.to_owned(), table })
}
