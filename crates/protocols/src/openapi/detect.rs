//! How an OpenAPI document that is named on a command line, or an address of one, becomes a source.

use std::path::Path;

use serde_json::{Value, json};

use super::check::{check, report};
use super::document::ApiDocument;
use super::path_items::operations;
use super::servers::ServerRules;
use super::source::SOURCE;
use crate::registry::{AddressHook, AddressTables, Companion, DetectedSource, DocumentKind, OpenError};

/// 3.0 and 3.1.
pub(crate) const DOCUMENT: DocumentKind = DocumentKind {
    name: "OpenAPI document",
    member: "openapi",
    likely_member: None,
    check,
    source_kind: SOURCE.kind,
    takes: wants_address,
    source,
    report: Some(report),
};

/// 2.0, when it was called Swagger.
pub(crate) const DOCUMENT_2: DocumentKind = DocumentKind {
    name: "OpenAPI 2.0 document",
    member: "swagger",
    likely_member: None,
    check,
    source_kind: SOURCE.kind,
    takes: wants_address,
    source,
    report: Some(report),
};

pub(super) const ADDRESS: AddressHook = AddressHook { what: "an OpenAPI document", tables };

/// An address whose last part says so is that of a document; any other file may be one, and any other address may be that
/// of a server which describes itself.
fn tables(url: &str) -> AddressTables {
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let document = json!({ "document": url });
    match ending {
        Some("yaml" | "yml") => AddressTables::Certain(document),
        Some("json") if name.contains("openapi") || name.contains("swagger") => {
            AddressTables::Certain(document)
        }
        Some("json") => AddressTables::Possible(vec![document]),
        _ => {
            let below = format!("{}/openapi.json", url.trim_end_matches('/'));
            AddressTables::Possible(vec![json!({ "document": below }), document])
        }
    }
}

/// A document that does not say where its server is takes the address behind it.
fn wants_address(document: &Value, next: &Companion<'_>) -> bool {
    let names_server = || {
        let document = ApiDocument::read(&document.to_string()).ok()?;
        let (found, _) = operations(&document);
        ServerRules::default().of_operation(&document, found.first()?).ok()
    };
    matches!(next, Companion::Address(_)) && names_server().is_none()
}

#[expect(clippy::unnecessary_wraps, reason = "the hook of other kinds can fail")]
fn source(file: &Path, companion: Option<&Companion<'_>>) -> Result<DetectedSource, OpenError> {
    let mut table = json!({ "document": file });
    if let Some(Companion::Address(url)) = companion {
        table["url"] = (*url).into();
    }
    Ok(DetectedSource { what: "an OpenAPI document".to_owned(), file: file.to_owned(), table })
}
