//! The catalogue as a list: searched, filtered and cut into pages here, so that a page is small however many tools there are.

use std::sync::Arc;

use serde::Serialize;
use toolmux_core::catalog::{Entry, Unserved, UnservedCause};
use toolmux_core::metrics::{CallSnapshot, ToolCallCounts};

use crate::invisible::shortened;
use crate::operator::Operator;

/// How many tools one page has.
const USUAL: usize = 50;
/// How many tools are listed at a time at most.
pub(crate) const MOST_TOOLS: usize = 1_000;
/// How much of a description a list shows.
const SUMMARY: usize = 240;

/// Which tools are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolFilter {
    /// Words, each of which must be in the name or the description.
    pub(crate) words: Vec<String>,
    pub(crate) source: Option<String>,
    pub(crate) toolset: Option<String>,
    /// `read_only`, `destructive`, `called`, `failing`, `needs`.
    pub(crate) only: Option<String>,
    /// Tools that are known and not served, instead.
    pub(crate) unserved: bool,
    pub(crate) page: usize,
    pub(crate) limit: usize,
}

/// One tool of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ToolRow {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) source: String,
    /// The beginning of its description; for a tool that is not served, why.
    pub(crate) summary: String,
    pub(crate) read_only: bool,
    pub(crate) destructive: bool,
    /// It needs a secret, a token or a user.
    pub(crate) needs: bool,
    pub(crate) calls: u64,
    pub(crate) failed: u64,
}

/// A page of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ToolList {
    pub(crate) tools: Vec<ToolRow>,
    /// How many fit.
    pub(crate) fitting: usize,
    /// How many there are.
    pub(crate) all: usize,
    pub(crate) page: usize,
    pub(crate) pages: usize,
}

impl ToolFilter {
    /// Reads the parameters of an address; what cannot be read stands for nothing.
    pub(crate) fn read(query: &[(String, String)]) -> Self {
        let find = |wanted: &str| query.iter().find(|(name, value)| name == wanted && !value.is_empty());
        let text = |wanted: &str| find(wanted).map(|(_, value)| value.clone());
        let number = |wanted: &str| text(wanted).and_then(|value| value.parse::<usize>().ok());
        ToolFilter {
            words: text("q")
                .map(|q| q.split_whitespace().map(str::to_lowercase).collect())
                .unwrap_or_default(),
            source: text("source"),
            toolset: text("toolset"),
            only: text("only"),
            unserved: text("only").as_deref() == Some("unserved"),
            page: number("page").unwrap_or(1).max(1),
            limit: number("limit").unwrap_or(USUAL).clamp(1, MOST_TOOLS),
        }
    }

    fn fits(&self, entry: &Entry, counts: &CallSnapshot) -> bool {
        let only = match self.only.as_deref() {
            Some("read_only") => entry.hints.read_only == Some(true),
            Some("destructive") => entry.hints.destructive == Some(true),
            Some("needs") => !entry.requires.is_empty(),
            Some("called") => counted(counts, entry).is_some(),
            Some("failing") => counted(counts, entry).is_some_and(|counted| counted.failed > 0),
            _ => true,
        };
        only && self.source.as_deref().is_none_or(|source| entry.source() == source)
            && self.has_words(&[&entry.flat, &entry.tool.name, &entry.tool.description])
    }

    fn has_words(&self, texts: &[&str]) -> bool {
        let holds = |text: &str, word: &str| text.len() >= word.len() && text.to_lowercase().contains(word);
        self.words.iter().all(|word| texts.iter().any(|text| holds(text, word)))
    }
}

/// The page of the list that a filter wants.
pub(crate) fn tools(operator: &Operator, filter: &ToolFilter) -> ToolList {
    let (catalog, counts) = (operator.web.gateway.catalog(), operator.web.gateway.call_counts());
    if filter.unserved {
        return unserved(operator, filter);
    }
    let mut fitting: Vec<&Arc<Entry>> = match &filter.toolset {
        Some(toolset) => {
            catalog.newest_in(toolset, &operator.caller).filter(|entry| filter.fits(entry, &counts)).collect()
        }
        None => catalog.newest(&operator.caller).filter(|entry| filter.fits(entry, &counts)).collect(),
    };
    if !filter.words.is_empty() {
        // What has the words in its name comes before what has them in its description.
        fitting.sort_by_key(|entry| !filter.has_words(&[&entry.flat]));
    }
    let (pages, skip) = pages(fitting.len(), filter);
    ToolList {
        tools: fitting.iter().skip(skip).take(filter.limit).map(|entry| row(entry, &counts)).collect(),
        fitting: fitting.len(),
        all: catalog.newest(&operator.caller).count(),
        page: filter.page.min(pages),
        pages,
    }
}

/// What was counted of a tool, all its versions together.
pub(super) fn counted(counts: &CallSnapshot, entry: &Entry) -> Option<ToolCallCounts> {
    counts.of_tool(&entry.id.toolkit, &entry.id.tool)
}

fn pages(fitting: usize, filter: &ToolFilter) -> (usize, usize) {
    let pages = fitting.div_ceil(filter.limit).max(1);
    (pages, (filter.page.min(pages) - 1) * filter.limit)
}

fn row(entry: &Entry, counts: &CallSnapshot) -> ToolRow {
    let counted = counted(counts, entry);
    let calls = counted.as_ref().map_or(0, |c| c.returned + c.failed + c.refused);
    let first = entry.tool.description.trim().split("\n\n").next().unwrap_or_default();
    ToolRow {
        id: entry.id.to_string(),
        name: entry.flat.to_string(),
        source: entry.source().to_owned(),
        summary: shortened(first, SUMMARY).into_owned(),
        read_only: entry.hints.read_only == Some(true),
        destructive: entry.hints.destructive == Some(true),
        needs: !entry.requires.is_empty(),
        calls,
        failed: counted.map_or(0, |counted| counted.failed),
    }
}

/// Tools that are known and not served, with the reason.
fn unserved(operator: &Operator, filter: &ToolFilter) -> ToolList {
    let catalog = operator.web.gateway.catalog();
    let fits = |tool: &&Unserved| {
        filter.source.as_deref().is_none_or(|source| tool.source == source)
            && filter.has_words(&[&tool.tool, &tool.reason])
    };
    let fitting: Vec<_> = catalog.unserved().iter().filter(fits).collect();
    let (pages, skip) = pages(fitting.len(), filter);
    let row = |tool: &&Unserved| ToolRow {
        id: String::new(),
        name: tool.tool.clone(),
        source: tool.source.clone(),
        summary: match tool.cause {
            UnservedCause::Hidden => format!("withheld: {}", tool.reason),
            UnservedCause::Unusable | UnservedCause::Collision => tool.reason.clone(),
        },
        read_only: false,
        destructive: false,
        needs: false,
        calls: 0,
        failed: 0,
    };
    ToolList {
        tools: fitting.iter().skip(skip).take(filter.limit).map(row).collect(),
        fitting: fitting.len(),
        all: catalog.unserved().len(),
        page: filter.page.min(pages),
        pages,
    }
}
