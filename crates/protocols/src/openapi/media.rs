//! Media types: which of those that a document offers is used.

use serde_json::{Map, Value};

/// What a media type is written and read as, the most useful first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MediaClass {
    /// JSON, and everything like `application/vnd.api+json`.
    Json,
    Form,
    Multipart,
    Text,
    /// Anything else is bytes.
    Bytes,
}

impl MediaClass {
    pub(super) fn of(media_type: &str) -> Self {
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" | "text/json" | "*/*" | "application/*" => MediaClass::Json,
            "application/x-www-form-urlencoded" => MediaClass::Form,
            "application/xml"
            | "application/yaml"
            | "application/x-yaml"
            | "application/x-ndjson"
            | "application/jsonl"
            | "application/graphql"
            | "application/toml"
            | "application/sql"
            | "application/javascript" => MediaClass::Text,
            other if other.ends_with("+json") => MediaClass::Json,
            other if other.starts_with("multipart/") => MediaClass::Multipart,
            other if other.starts_with("text/") || other.ends_with("+xml") || other.ends_with("+yaml") => {
                MediaClass::Text
            }
            _ => MediaClass::Bytes,
        }
    }
}

/// The media type of `content` that is used: the most useful, and of those alike the first.
pub(super) fn best_media(content: &Map<String, Value>) -> Option<(MediaClass, &str, &Map<String, Value>)> {
    let read = content.iter().filter_map(|(media_type, media)| {
        Some((MediaClass::of(media_type), media_type.as_str(), media.as_object()?))
    });
    read.min_by_key(|(class, ..)| *class)
}

/// The one that `content` of a parameter has.
pub(super) fn first_media(content: &Map<String, Value>) -> Option<(MediaClass, &Map<String, Value>)> {
    best_media(content).map(|(class, _, media)| (class, media))
}
