//! Which page is meant by a topic, and which lines have some words.

use super::pages::DocPage;

/// A line that has the words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) topic: &'static str,
    pub(super) line: usize,
    pub(super) text: &'static str,
}

/// How many lines of one page are listed: the reader looks for the page.
const LINES_OF_A_PAGE: usize = 5;

/// The pages of a topic: that of the whole name, or those whose last part it is (`mcp` for `sources/mcp` and
/// `protocols/mcp`).
pub(super) fn named<'a>(topic: &str, pages: &'a [DocPage]) -> Vec<&'a DocPage> {
    let topic = topic.trim().trim_start_matches("docs/").trim_end_matches(".md").to_lowercase();
    if let Some(page) = pages.iter().find(|page| page.topic == topic) {
        return vec![page];
    }
    pages.iter().filter(|page| page.topic.rsplit('/').next() == Some(topic.as_str())).collect()
}

/// Lines with the words as they are given; where there is none, lines with all of the words.
pub(super) fn find(words: &str, pages: &[DocPage]) -> Vec<Hit> {
    let words = words.trim().to_lowercase();
    let together = lines_with(pages, |line| line.contains(&words));
    if !together.is_empty() {
        return together;
    }
    let apart: Vec<&str> = words.split_whitespace().collect();
    lines_with(pages, |line| apart.iter().all(|word| line.contains(word)))
}

fn lines_with(pages: &[DocPage], fits: impl Fn(&str) -> bool) -> Vec<Hit> {
    let of_page = |page: &DocPage| {
        let lines = page.text.lines().enumerate().filter(|(_, line)| fits(&line.to_lowercase()));
        let hits = lines.map(|(index, line)| Hit { topic: page.topic, line: index + 1, text: line.trim() });
        hits.take(LINES_OF_A_PAGE).collect::<Vec<_>>()
    };
    pages.iter().flat_map(of_page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: &[DocPage] = &[
        DocPage { topic: "callers", text: "# Callers\nA rate limit\n\nlimits the Rate" },
        DocPage { topic: "sources/mcp", text: "# MCP servers" },
        DocPage { topic: "protocols/mcp", text: "# MCP\nno limits" },
    ];

    #[test]
    fn a_topic_is_named_whole_or_by_its_last_part() {
        let check = |topic: &str, expect: &[&str]| {
            let topics: Vec<&str> = named(topic, PAGES).iter().map(|page| page.topic).collect();
            assert_eq!(topics, expect, "{topic}");
        };
        check("callers", &["callers"]);
        check("docs/Callers.md", &["callers"]);
        check("mcp", &["sources/mcp", "protocols/mcp"]);
        check("sources/mcp", &["sources/mcp"]);
        check("call", &[]);
    }

    #[test]
    fn words_are_found_together_or_else_on_one_line() {
        let check = |words: &str, expect: &[(&str, usize)]| {
            let hits: Vec<(&str, usize)> =
                find(words, PAGES).iter().map(|hit| (hit.topic, hit.line)).collect();
            assert_eq!(hits, expect, "{words}");
        };
        check("Rate limit", &[("callers", 2)]);
        check("rate limits", &[("callers", 4)]);
        check("limit", &[("callers", 2), ("callers", 4), ("protocols/mcp", 2)]);
        check("nothing", &[]);
    }
}
