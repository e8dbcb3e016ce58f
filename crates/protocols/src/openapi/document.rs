//! A document as a whole: which edition of the specification it follows, and what its references lead to.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::documents::fault::{Fault, Weight};
use crate::documents::read_document;

/// How many references may lead to one another before a part of a document is reached.
const MOST_HOPS: usize = 32;

/// Which edition of the specification a document follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edition {
    /// 2.0, when it was called Swagger.
    V2,
    V3_0,
    /// 3.1 and what is to come: schemas are JSON Schema 2020-12.
    V3_1,
}

/// A document that was read and corrected.
#[derive(Debug)]
pub(super) struct ApiDocument {
    pub(super) root: Value,
    pub(super) edition: Edition,
}

impl ApiDocument {
    /// Reads a text.
    pub(super) fn read(text: &str) -> Result<Self, Fault> {
        ApiDocument::new(read_document(text)?)
    }

    /// Takes what was read.
    pub(super) fn new(root: Value) -> Result<Self, Fault> {
        // YAML without quotes makes a number of `swagger: 2.0`.
        let text = |member: &str| match root.get(member) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let edition = match (text("openapi"), text("swagger")) {
            (Some(version), _) if version == "3" || version.starts_with("3.0") => Edition::V3_0,
            (Some(version), _) if version.starts_with("3.") => Edition::V3_1,
            (None, Some(version)) if version == "2" || version.starts_with("2.") => Edition::V2,
            (Some(version), _) | (None, Some(version)) => {
                let what = format!("OpenAPI {version:?} is not known");
                return Err(whole_document(what, "2.0, 3.0 and 3.1 are; `patch` can correct the member"));
            }
            (None, None) => {
                let what = "it is not an OpenAPI document: it has neither `openapi` nor `swagger`".to_owned();
                return Err(whole_document(what, "add `openapi: 3.1.0`"));
            }
        };
        Ok(ApiDocument { root, edition })
    }

    /// An object of the document by its path.
    pub(super) fn object(&self, pointer: &str) -> Option<&Map<String, Value>> {
        self.root.pointer(pointer)?.as_object()
    }

    /// What a part of the document is, behind the references that stand for it.
    pub(super) fn followed<'a>(&'a self, part: &'a Value) -> Result<&'a Map<String, Value>, String> {
        let mut part = part;
        for _ in 0..MOST_HOPS {
            let Some(map) = part.as_object() else { return Err("an object is missing".to_owned()) };
            let Some(reference) = map.get("$ref").and_then(Value::as_str) else { return Ok(map) };
            part = self.find(reference)?;
        }
        Err(format!("more than {MOST_HOPS} references lead to one another"))
    }

    /// What a reference leads to.
    pub(super) fn find(&self, reference: &str) -> Result<&Value, String> {
        let Some(pointer) = pointer(reference) else {
            let what = "refers to another document, which is not read: bundle them into one";
            return Err(format!("`{}` {what}", shown(reference)));
        };
        self.root.pointer(&pointer).ok_or_else(|| format!("`{}` leads nowhere", shown(reference)))
    }
}

/// The JSON pointer of a reference into the same document.
pub(super) fn pointer(reference: &str) -> Option<Cow<'_, str>> {
    let fragment = reference.strip_prefix('#')?;
    if !fragment.contains('%') {
        return Some(Cow::Borrowed(fragment));
    }
    percent_decode_str(fragment).decode_utf8().ok()
}

/// A text of the document for messages, not longer than a line.
pub(super) fn shown(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let short: String = plain.take(120).collect();
    if text.chars().count() > 120 { format!("{short}…") } else { short }
}

fn whole_document(what: String, remedy: &str) -> Fault {
    Fault { path: "$".to_owned(), line: 1, column: 1, what, remedy: remedy.to_owned(), weight: Weight::Fatal }
}

/// The text of a member that has any.
pub(super) fn text_of<'a>(map: &'a Map<String, Value>, member: &str) -> Option<&'a str> {
    map.get(member)?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// The texts of a member that is a list.
pub(super) fn texts_of<'a>(map: &'a Map<String, Value>, member: &str) -> Vec<&'a str> {
    let items = map.get(member).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).collect()
}
