//! What of a tool's content a model is shown: texts and images as what they are, other bytes as a note. Base64 is
//! never shown as text: it costs thousands of tokens and tells a model nothing.

use serde::Deserialize;
use toolmux_core::outcome::Content;

/// A content block as vendors can take it.
pub(super) enum Shown {
    Text(String),
    /// Base64 with its media type.
    Image {
        kind: String,
        data: String,
    },
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Block {
    r#type: String,
    text: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
    resource: Option<Resource>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Resource {
    blob: Option<String>,
    mime_type: Option<String>,
}

impl Shown {
    pub(super) fn of(content: &Content) -> Self {
        let json = content.json().get();
        let block: Block = serde_json::from_str(json).unwrap_or_default();
        let resource = block.resource.unwrap_or_default();
        match (block.r#type.as_str(), block.text, block.data.or(resource.blob)) {
            ("text", Some(text), _) => Shown::Text(text),
            ("image", _, Some(data)) if block.mime_type.is_some() => {
                Shown::Image { kind: block.mime_type.unwrap_or_default(), data }
            }
            (what, _, Some(data)) => {
                Shown::Text(note(what, block.mime_type.or(resource.mime_type).as_deref(), &data))
            }
            _ => Shown::Text(json.to_owned()),
        }
    }

    /// As text, for vendors whose tool results hold nothing else.
    pub(super) fn into_text(self) -> String {
        match self {
            Shown::Text(text) => text,
            Shown::Image { kind, data } => note("image", Some(&kind), &data),
        }
    }
}

fn note(what: &str, kind: Option<&str>, base64: &str) -> String {
    let padding = base64.bytes().rev().take_while(|byte| *byte == b'=').count();
    let bytes = (base64.len() / 4 * 3).saturating_sub(padding);
    let kind = kind.unwrap_or("unknown");
    format!("[{what} of type {kind}, {bytes} bytes: it cannot be shown to the model here]")
}
