//! How an OpenWorkflow document that is named on a command line becomes a source.

use std::path::Path;

use serde_json::json;

use super::document::check;
use super::source::SOURCE;
use crate::registry::{Companion, DetectedSource, DocumentKind, OpenError};

pub(crate) const DOCUMENT: DocumentKind = DocumentKind {
    name: "OpenWorkflow document",
    member: "openworkflow",
    likely_member: None,
    check,
    source_kind: SOURCE.kind,
    takes: |_, _| false,
    source,
    report: None,
};

#[expect(clippy::unnecessary_wraps, reason = "the hook of other kinds can fail")]
fn source(file: &Path, _: Option<&Companion<'_>>) -> Result<DetectedSource, OpenError> {
    let table = json!({ "document": file });
    Ok(DetectedSource { what: "an OpenWorkflow document".to_owned(), file: file.to_owned(), table })
}
