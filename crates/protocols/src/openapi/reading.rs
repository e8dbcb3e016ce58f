//! A document as the tools that it describes: which operations came in, which did not and why.

use toolmux_core::ports::source::Listing;
use toolmux_core::tool::Tool;
use toolmux_core::version::Version;

use super::document::{ApiDocument, shown, text_of};
use super::operation_names::{OperationNames, is_included, matches_operation};
use super::operation_tool::{ReadingRules, ToolReader};
use super::path_items::operations;
use super::responses::AnswerSchemas;
use crate::http_request::Operation;

/// What was made of a document.
#[derive(Debug, Default)]
pub(super) struct ApiReading {
    pub(super) tools: Vec<(Tool, Operation)>,
    pub(super) lost: Vec<LostOperation>,
    /// Names of operations that `include` leaves out.
    pub(super) excluded: Vec<String>,
    /// Patterns of `include` that match no operation.
    pub(super) unmatched: Vec<String>,
}

/// An operation that cannot be called.
#[derive(Debug)]
pub(super) struct LostOperation {
    pub(super) name: String,
    /// Where it stands, as `$.paths["/a"].get`.
    pub(super) place: String,
    pub(super) reason: String,
}

/// Reads every operation. One that cannot be called costs only itself.
pub(super) fn read_api(document: &ApiDocument, rules: &ReadingRules) -> ApiReading {
    let unmatched = rules.include.clone().unwrap_or_default();
    let mut reading = ApiReading { unmatched, ..ApiReading::default() };
    let version = document.object("/info").and_then(|info| text_of(info, "version"));
    let version = version.map_or(Version::FIRST, Version::nearest);
    let mut reader = ToolReader { document, rules, version, answers: AnswerSchemas::default() };
    let mut names = OperationNames::default();
    let (found, lost) = operations(document);
    for (path, reason) in lost {
        let place = format!("$.paths[{}]", serde_json::Value::from(path.as_str()));
        reading.lost.push(LostOperation { name: shown(&path), place, reason });
    }
    for found in &found {
        let name = names.give(found);
        reading.unmatched.retain(|pattern| !matches_operation(pattern, found, &name));
        if !is_included(found, &name, rules.include.as_deref()) {
            reading.excluded.push(name);
            continue;
        }
        match reader.read(found, &name) {
            Ok(read) => reading.tools.push(read),
            Err(reason) => reading.lost.push(LostOperation { name, place: found.place(), reason }),
        }
    }
    reading
}

impl ApiReading {
    /// What an operator should know of the settings: patterns that match nothing.
    pub(super) fn warnings(&self) -> Vec<String> {
        let warning = |pattern: &String| {
            format!("the pattern `{}` of `include` matches no operation id and no tag", shown(pattern))
        };
        self.unmatched.iter().map(warning).collect()
    }

    /// The list of the source, and the requests of its tools.
    pub(super) fn listing(self) -> (Listing, Vec<(std::sync::Arc<str>, Operation)>) {
        let (mut listing, mut requests) = (Listing::default(), Vec::with_capacity(self.tools.len()));
        for (tool, operation) in self.tools {
            requests.push((std::sync::Arc::clone(&tool.name), operation));
            listing.tools.push(tool);
        }
        listing.unusable = self.lost.into_iter().map(|lost| (lost.name, lost.reason)).collect();
        (listing, requests)
    }
}
