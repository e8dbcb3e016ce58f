//! Which schemas describe files: bytes that are sent as they are, one or several, and whether they may be left out by null.

use serde_json::{Map, Value};

use super::document::ApiDocument;

/// How deep choices and arrays are looked into.
const MOST_LOOKS: usize = 4;

/// A file, or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileShape {
    pub(super) several: bool,
    pub(super) nullable: bool,
}

/// What kind of file a schema describes; none when it describes something else.
pub(super) fn file_shape(document: &ApiDocument, schema: &Value) -> Option<FileShape> {
    shape(document, schema, MOST_LOOKS)
}

fn shape(document: &ApiDocument, schema: &Value, looks: usize) -> Option<FileShape> {
    let map = document.followed(schema).ok().filter(|_| looks > 0)?;
    let nullable = map.get("nullable") == Some(&Value::Bool(true)) || kinds(map).contains(&"null");
    let found = |found: FileShape| FileShape { nullable: nullable || found.nullable, ..found };
    for choice in ["anyOf", "oneOf", "allOf"] {
        if let Some(branches) = map.get(choice).and_then(Value::as_array) {
            return of_branches(document, branches, looks).map(found);
        }
    }
    if kinds(map).contains(&"array") {
        let items = shape(document, map.get("items")?, looks - 1).filter(|items| !items.several)?;
        return Some(found(FileShape { several: true, ..items }));
    }
    is_bytes(map).then(|| found(FileShape::default()))
}

/// A choice is of files when all of it is but null.
fn of_branches(document: &ApiDocument, branches: &[Value], looks: usize) -> Option<FileShape> {
    let is_null = |branch: &&Value| branch.get("type").and_then(Value::as_str) == Some("null");
    let nullable = branches.iter().any(|branch| is_null(&branch));
    let files =
        branches.iter().filter(|branch| !is_null(branch)).map(|branch| shape(document, branch, looks - 1));
    let files: Vec<FileShape> = files.collect::<Option<_>>()?;
    let first = files.first()?;
    let several = files.iter().any(|file| file.several);
    Some(FileShape { several, nullable: nullable || first.nullable })
}

fn kinds(map: &Map<String, Value>) -> Vec<&str> {
    match map.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(kind)) => vec![kind],
        _ => Vec::new(),
    }
}

fn is_bytes(map: &Map<String, Value>) -> bool {
    let said = |member: &str| map.get(member).and_then(Value::as_str);
    let kinds = kinds(map);
    let is_text = kinds.contains(&"string") && kinds.iter().all(|kind| matches!(*kind, "string" | "null"));
    let by_format = matches!(said("format"), Some("binary" | "base64"));
    let by_encoding = matches!(said("contentEncoding"), Some("base64" | "base64url" | "binary"));
    let by_media = said("contentMediaType").is_some() && !map.contains_key("contentSchema");
    // Of 3.1: bytes have no type, and are known by their media type alone.
    kinds == ["file"] || (is_text && (by_format || by_encoding || by_media)) || (kinds.is_empty() && by_media)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_known_by_every_way_to_describe_them() {
        let root = json!({ "openapi": "3.1.0" });
        let document = ApiDocument::read(&root.to_string()).expect("a document");
        let binary = json!({ "type": "string", "format": "binary" });
        let one = FileShape::default();
        let maybe = FileShape { nullable: true, several: false };
        for (schema, expect) in [
            (binary.clone(), Some(one)),
            (json!({ "type": "file" }), Some(one)),
            (json!({ "type": ["string", "null"], "format": "binary" }), Some(maybe)),
            (json!({ "type": "string", "format": "binary", "nullable": true }), Some(maybe)),
            (json!({ "anyOf": [binary, { "type": "null" }] }), Some(maybe)),
            (json!({ "contentMediaType": "image/png" }), Some(one)),
            (json!({ "type": "string", "contentEncoding": "base64" }), Some(one)),
            (json!({ "type": "array", "items": binary }), Some(FileShape { several: true, nullable: false })),
            (
                json!({ "anyOf": [{ "type": "array", "items": binary }, { "type": "null" }] }),
                Some(FileShape { several: true, nullable: true }),
            ),
            (json!({ "type": "string" }), None),
            (json!({ "type": "object", "contentMediaType": "application/json" }), None),
            (json!({ "anyOf": [binary, { "type": "integer" }] }), None),
            (json!({ "type": "string", "contentMediaType": "application/json", "contentSchema": {} }), None),
            (json!({}), None),
        ] {
            assert_eq!(file_shape(&document, &schema), expect, "{schema}");
        }
    }
}
