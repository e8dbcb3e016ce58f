//! How an OpenRPC document or server that is named on a command line becomes a source.

use std::path::Path;

use serde_json::{Value, json};

use super::document::check;
use super::report::report;
use super::source::SOURCE;
use crate::registry::{AddressTables, Companion, DetectedSource, DocumentKind, OpenError};

pub(crate) const DOCUMENT: DocumentKind = DocumentKind {
    name: "OpenRPC document",
    member: "openrpc",
    likely_member: None,
    check,
    source_kind: SOURCE.kind,
    takes: wants_address,
    source,
    report: Some(report),
};

/// An address is that of a document when its name says so, and that of a server otherwise.
pub(super) fn address_tables(url: &str) -> AddressTables {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    if path.ends_with("openrpc.json") {
        return AddressTables::Certain(json!({ "document": url }));
    }
    let server = json!({ "url": url });
    let is_file = Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let document = is_file.then(|| json!({ "document": url }));
    AddressTables::Possible(document.into_iter().chain([server]).collect())
}

/// A document that does not say where its server is takes the address behind it.
fn wants_address(document: &Value, next: &Companion<'_>) -> bool {
    matches!(next, Companion::Address(_)) && document.pointer("/servers/0/url").is_none()
}

#[expect(clippy::unnecessary_wraps, reason = "the hook of other kinds can fail")]
fn source(file: &Path, companion: Option<&Companion<'_>>) -> Result<DetectedSource, OpenError> {
    let mut table = json!({ "document": file });
    if let Some(Companion::Address(url)) = companion {
        table["url"] = (*url).into();
    }
    Ok(DetectedSource { what: "an OpenRPC document".to_owned(), file: file.to_owned(), table })
}
