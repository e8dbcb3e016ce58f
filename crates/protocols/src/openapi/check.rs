//! Faults of a document, each with its place, and what a source makes of the document.

use serde_json::{Map, Value};

use super::document::{ApiDocument, shown};
use super::fetch::read_file;
use super::operation_tool::{ApiHeaders, ReadingRules};
use super::path_items::operations;
use super::reading::read_api;
use super::security::{undefined, undefined_at_root};
use super::servers::ServerRules;
use super::settings::{ApiDocumentPlace, OpenApiSettings};
use super::source::with_patch;
use crate::documents::fault::{Fault, Faults, Path, Weight};
use crate::documents::read_document;
use crate::http_request::{FileAccess, OutputCheck};
use crate::registry::{DocumentReport, OpenError, Opening};

/// Members whose values are data, in which `$ref` is just a name.
const DATA: [&str; 5] = ["example", "examples", "default", "enum", "const"];

/// Every fault of a text as an OpenAPI document.
pub(super) fn check(text: &str) -> Vec<Fault> {
    let document = match ApiDocument::read(text) {
        Ok(document) => document,
        Err(fault) => return vec![fault],
    };
    let mut faults = Faults::default();
    check_members(&document, &mut faults);
    check_references(&document, &document.root, &Path::Root, &mut faults);
    // Where the server is has a fault of its own: it is the same for all operations.
    let anywhere = "http://localhost/".parse().ok();
    let servers = ServerRules { url: anywhere, ..ServerRules::default() };
    let rules = ReadingRules {
        servers,
        include: None,
        headers: ApiHeaders::default(),
        output: OutputCheck::Off,
        files: FileAccess::default(),
    };
    for lost in read_api(&document, &rules).lost {
        let remedy = "correct the document, or give the source a `patch`";
        faults.found(lost.place, (lost.reason, remedy.to_owned()), Weight::Unusable);
    }
    faults.placed(text)
}

fn check_members(document: &ApiDocument, faults: &mut Faults) {
    let root = Path::Root;
    if document.object("/info").is_none() {
        faults.missing(&root, "info", Weight::Tolerable, "add `info` with `title` and `version`");
    }
    let (found, _) = operations(document);
    let mut undefined_scheme = |place: String, name: &str| {
        let what = format!("the security scheme `{}` is not defined", shown(name));
        let remedy = "define it below `components.securitySchemes` (2.0: `securityDefinitions`)";
        faults.found(place, (what, remedy.to_owned()), Weight::Warning);
    };
    for name in undefined_at_root(document) {
        undefined_scheme("$.security".to_owned(), name);
    }
    for operation in &found {
        for name in undefined(document, operation) {
            undefined_scheme(operation.place(), name);
        }
    }
    match found.first() {
        None => faults.warning(&root, "the document has no operations", "add some below `paths`"),
        Some(first) => {
            if let Err(why) = ServerRules::default().of_operation(document, first) {
                faults.warning(&root, why, "without it, a document that is a file cannot be served");
            }
        }
    }
}

/// Tells of every reference that leads nowhere.
fn check_references(document: &ApiDocument, value: &Value, at: &Path<'_>, faults: &mut Faults) {
    match value {
        Value::Object(members) => {
            check_reference(document, members, at, faults);
            for (name, inner) in members.iter().filter(|(name, _)| !DATA.contains(&name.as_str())) {
                check_references(document, inner, &at.member(name), faults);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                check_references(document, inner, &at.item(index), faults);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_reference(document: &ApiDocument, members: &Map<String, Value>, at: &Path<'_>, faults: &mut Faults) {
    let Some(reference) = members.get("$ref").and_then(Value::as_str) else { return };
    if let Err(why) = document.find(reference) {
        let what = format!("the reference {why}");
        let remedy = format!("define what `{}` names; a schema there accepts anything", shown(reference));
        faults.warning(&at.member("$ref"), what, remedy);
    }
}

/// What a source of this table serves; nothing where the document is at an address, which `check` does not ask.
pub(super) fn report(opening: &Opening<'_>) -> Result<Option<DocumentReport>, OpenError> {
    let settings = opening.settings::<OpenApiSettings>()?.ready(opening)?;
    let ApiDocumentPlace::File(file) = &settings.place else { return Ok(None) };
    let text = read_file(file).map_err(OpenError::new)?;
    let unusable = |why: String| OpenError::new(why).hint(format!("toolmux check {}", file.display()));
    let root =
        read_document(&text).map_err(|fault| unusable(format!("the document cannot be used: {fault}")))?;
    let document = with_patch(root, &settings).map_err(unusable)?;
    let mut reading = read_api(&document, &settings.rules);
    let (excluded, warnings) = (std::mem::take(&mut reading.excluded), reading.warnings());
    let (listing, _) = reading.listing();
    Ok(Some(DocumentReport { listing, excluded, warnings }))
}
