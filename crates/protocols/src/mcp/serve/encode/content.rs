//! Blocks of content for clients whose revision does not know them yet: as texts that say the same.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::json_text::{RawJson, raw_of, to_raw};

use crate::mcp::members::Members;
use crate::mcp::revision::Revision;

/// The kinds that not every revision has, and since when each is known.
const NEWER: [(&str, Revision); 2] =
    [("audio", Revision::V2025_03_26), ("resource_link", Revision::V2025_06_18)];

/// True when some blocks may have to be written in another way. A look at the text: cheap, and wrong only towards
/// looking closer.
fn may_be_newer(text: &str, revision: Revision) -> bool {
    NEWER.iter().any(|(kind, since)| revision < *since && text.contains(kind))
}

/// A block as the revision knows it.
pub(in crate::mcp) fn block(block: &RawValue, revision: Revision) -> Cow<'_, RawValue> {
    let older = may_be_newer(block.get(), revision).then(|| in_words(block, revision)).flatten();
    older.map_or(Cow::Borrowed(block), Cow::Owned)
}

/// The content of a result of `tools/call`; none when it can stay as it is.
pub(in crate::mcp) fn of_result(members: &Members<'_>, revision: Revision) -> Option<RawJson> {
    let content = members.get("content");
    // Before structured content was known, a result without blocks said nothing.
    if revision < Revision::V2025_06_18
        && content.is_none_or(|content| content.get() == "[]")
        && let Some(structured) = members.get("structuredContent")
    {
        return Some(raw_of(&json!([{ "type": "text", "text": structured.get() }])));
    }
    let content = content.filter(|content| may_be_newer(content.get(), revision))?;
    let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
    let blocks: Vec<Cow<'_, RawValue>> = blocks.into_iter().map(|each| block(each, revision)).collect();
    to_raw(&blocks).ok()
}

/// The messages of a result of `prompts/get`; none when they can stay as they are.
pub(in crate::mcp) fn of_prompt(members: &Members<'_>, revision: Revision) -> Option<RawJson> {
    let messages = members.get("messages").filter(|messages| may_be_newer(messages.get(), revision))?;
    let messages: Vec<&RawValue> = serde_json::from_str(messages.get()).ok()?;
    let written = messages.into_iter().map(|message| {
        let mut members = Members::read_or_empty(Some(message));
        let content = members.get("content").map(|content| block(content, revision).into_owned());
        if let Some(content) = content {
            members.put_raw("content", content);
        }
        members.write()
    });
    to_raw(&written.collect::<Vec<RawJson>>()).ok()
}

/// A block of a newer kind as a text; none when the revision knows its kind.
fn in_words(block: &RawValue, revision: Revision) -> Option<RawJson> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Newer<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
        uri: Option<String>,
        name: Option<String>,
        title: Option<String>,
        description: Option<String>,
        mime_type: Option<String>,
        #[serde(borrow)]
        annotations: Option<&'a RawValue>,
        #[serde(borrow, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    let newer: Newer<'_> = serde_json::from_str(block.get()).ok()?;
    let (kind, _) = NEWER.into_iter().find(|(kind, since)| newer.r#type == *kind && revision < *since)?;
    let parts = [newer.title.or(newer.name), newer.description, newer.mime_type, newer.uri];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let what = if kind == "audio" { "Audio that this client cannot take" } else { "Resource" };
    let mut members = Members::default();
    members.put("type", "text");
    members.put("text", &format!("{what}: {}", parts.join(", ")));
    for (key, value) in [("annotations", newer.annotations), ("_meta", newer.meta)] {
        if let Some(value) = value {
            members.put_raw(key, value.to_owned());
        }
    }
    Some(members.write())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn check(given: &Value, revision: Revision, expect: &Value) {
        let given = raw_of(given);
        let written: Value = serde_json::from_str(block(&given, revision).get()).expect("JSON");
        assert_eq!(written, *expect);
    }

    #[test]
    fn a_link_is_a_text_where_links_are_not_known() {
        let link = json!({ "type": "resource_link", "uri": "file:///a.txt", "name": "a", "description": "A file",
            "mimeType": "text/plain", "annotations": { "audience": ["user"] } });
        let expect = json!({ "type": "text", "text": "Resource: a, A file, text/plain, file:///a.txt",
            "annotations": { "audience": ["user"] } });
        check(&link, Revision::V2024_11_05, &expect);
        check(&link, Revision::V2025_03_26, &expect);
        check(&link, Revision::V2025_06_18, &link);
        check(&link, Revision::MODERN, &link);
    }

    #[test]
    fn audio_is_a_text_in_the_first_revision() {
        let audio = json!({ "type": "audio", "data": "AA==", "mimeType": "audio/wav" });
        let expect = json!({ "type": "text", "text": "Audio that this client cannot take: audio/wav" });
        check(&audio, Revision::V2024_11_05, &expect);
        check(&audio, Revision::V2025_03_26, &audio);
    }

    #[test]
    fn every_other_block_stays_as_it_is() {
        for block in [
            json!({ "type": "text", "text": "an audio resource_link" }),
            json!({ "type": "hologram", "uri": "resource_link" }),
            json!("resource_link"),
        ] {
            check(&block, Revision::V2024_11_05, &block);
        }
    }
}
