//! How an OpenTool document that is named on a command line becomes a source.

use std::path::Path;

use serde_json::{Value, json};

use super::document::check;
use super::source::SOURCE;
use crate::registry::{Companion, DetectedSource, DocumentKind, OpenError};

pub(crate) const DOCUMENT: DocumentKind = DocumentKind {
    name: "OpenTool document",
    member: "opentool",
    // A list of functions without a name above it is most likely OpenTool's, in a shape from before its page.
    likely_member: Some("functions"),
    check,
    source_kind: SOURCE.kind,
    takes: wants_address,
    source,
    report: None,
};

/// A document that does not say where its server is takes the address behind it.
fn wants_address(document: &Value, next: &Companion<'_>) -> bool {
    matches!(next, Companion::Address(_)) && document.pointer("/server/url").is_none()
}

#[expect(clippy::unnecessary_wraps, reason = "the hook of other kinds can fail")]
fn source(file: &Path, companion: Option<&Companion<'_>>) -> Result<DetectedSource, OpenError> {
    let mut table = json!({ "document": file });
    if let Some(Companion::Address(url)) = companion {
        table["url"] = (*url).into();
    }
    Ok(DetectedSource { what: "an OpenTool document".to_owned(), file: file.to_owned(), table })
}
