//! The operations of a document, in its order: each path with each method.

use http::Method;
use serde_json::{Map, Value};

use super::document::ApiDocument;

/// An operation as the document has it.
pub(super) struct FoundOperation<'d> {
    pub(super) method: Method,
    pub(super) path: &'d str,
    /// What the operations of one path share.
    pub(super) item: &'d Map<String, Value>,
    pub(super) operation: &'d Map<String, Value>,
}

impl FoundOperation<'_> {
    /// Where it stands, as faults name places.
    pub(super) fn place(&self) -> String {
        format!("$.paths[{}].{}", Value::from(self.path), self.member())
    }

    /// Its method as documents write it.
    pub(super) fn member(&self) -> String {
        self.method.as_str().to_ascii_lowercase()
    }
}

/// A path that cannot be read: its place and the reason.
pub(super) type LostPath = (String, String);

/// The members of a path that are operations.
const METHODS: [(&str, Method); 8] = [
    ("get", Method::GET),
    ("put", Method::PUT),
    ("post", Method::POST),
    ("delete", Method::DELETE),
    ("options", Method::OPTIONS),
    ("head", Method::HEAD),
    ("patch", Method::PATCH),
    ("trace", Method::TRACE),
];

/// Every operation, and the paths that cannot be read.
pub(super) fn operations(document: &ApiDocument) -> (Vec<FoundOperation<'_>>, Vec<LostPath>) {
    let (mut found, mut lost) = (Vec::new(), Vec::new());
    for (path, item) in document.object("/paths").into_iter().flatten() {
        if path.starts_with("x-") {
            continue;
        }
        let item = match document.followed(item) {
            Ok(item) => item,
            Err(why) => {
                lost.push((path.clone(), why));
                continue;
            }
        };
        // In the order of the document.
        for (member, operation) in item {
            let method = METHODS.iter().find(|(name, _)| name == member);
            if let (Some((_, method)), Some(operation)) = (method, operation.as_object()) {
                found.push(FoundOperation { method: method.clone(), path, item, operation });
            }
        }
    }
    (found, lost)
}
