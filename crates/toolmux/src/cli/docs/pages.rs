//! The pages of docs/, as they were when this program was built. The folder `docs` of this crate is a link to that of
//! the project, which `cargo package` follows: a published crate has the pages, and there is one copy of each.

/// A page and the topic that it is asked for by.
pub(super) struct DocPage {
    pub(super) topic: &'static str,
    pub(super) text: &'static str,
}

impl DocPage {
    /// The first heading.
    pub(super) fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
    }
}

/// The index first, then by task, then the reference of protocols and sources.
pub(super) const PAGES: &[DocPage] = &[
    DocPage { topic: "index", text: include_str!("../../../docs/README.md") },
    DocPage { topic: "authorization", text: include_str!("../../../docs/authorization.md") },
    DocPage { topic: "callers", text: include_str!("../../../docs/callers.md") },
    DocPage { topic: "commands", text: include_str!("../../../docs/commands.md") },
    DocPage { topic: "configuration", text: include_str!("../../../docs/configuration.md") },
    DocPage { topic: "connect", text: include_str!("../../../docs/connect.md") },
    DocPage { topic: "console", text: include_str!("../../../docs/console.md") },
    DocPage { topic: "extending", text: include_str!("../../../docs/extending.md") },
    DocPage { topic: "migrate", text: include_str!("../../../docs/migrate.md") },
    DocPage { topic: "opendyn-document", text: include_str!("../../../docs/opendyn-document.md") },
    DocPage { topic: "operations", text: include_str!("../../../docs/operations.md") },
    DocPage { topic: "path-of-a-call", text: include_str!("../../../docs/path-of-a-call.md") },
    DocPage { topic: "performance", text: include_str!("../../../docs/performance.md") },
    DocPage { topic: "production", text: include_str!("../../../docs/production.md") },
    DocPage { topic: "scale", text: include_str!("../../../docs/scale.md") },
    DocPage { topic: "sdk", text: include_str!("../../../docs/sdk.md") },
    DocPage { topic: "security", text: include_str!("../../../docs/security.md") },
    DocPage { topic: "see-what-happened", text: include_str!("../../../docs/see-what-happened.md") },
    DocPage { topic: "troubleshooting", text: include_str!("../../../docs/troubleshooting.md") },
    DocPage { topic: "protocols/ats", text: include_str!("../../../docs/protocols/ats.md") },
    DocPage { topic: "protocols/mcp", text: include_str!("../../../docs/protocols/mcp.md") },
    DocPage { topic: "protocols/model", text: include_str!("../../../docs/protocols/model.md") },
    DocPage { topic: "protocols/opentool", text: include_str!("../../../docs/protocols/opentool.md") },
    DocPage { topic: "protocols/oxp", text: include_str!("../../../docs/protocols/oxp.md") },
    DocPage { topic: "protocols/rest", text: include_str!("../../../docs/protocols/rest.md") },
    DocPage { topic: "sources/ats", text: include_str!("../../../docs/sources/ats.md") },
    DocPage { topic: "sources/command", text: include_str!("../../../docs/sources/command.md") },
    DocPage { topic: "sources/http", text: include_str!("../../../docs/sources/http.md") },
    DocPage { topic: "sources/mcp", text: include_str!("../../../docs/sources/mcp.md") },
    DocPage { topic: "sources/opendyn", text: include_str!("../../../docs/sources/opendyn.md") },
    DocPage { topic: "sources/openapi", text: include_str!("../../../docs/sources/openapi.md") },
    DocPage { topic: "sources/openrpc", text: include_str!("../../../docs/sources/openrpc.md") },
    DocPage { topic: "sources/opentool", text: include_str!("../../../docs/sources/opentool.md") },
    DocPage { topic: "sources/oxp", text: include_str!("../../../docs/sources/oxp.md") },
    DocPage { topic: "sources/workflow", text: include_str!("../../../docs/sources/workflow.md") },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// The topics that a folder of docs/ has.
    fn topics(folder: &str) -> Vec<String> {
        let entries = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(folder).read_dir();
        let names = entries.expect("a folder").map(|entry| entry.expect("a file").file_name());
        let names = names.filter_map(|name| Some(name.to_str()?.strip_suffix(".md")?.to_owned()));
        names
            .map(|name| if name == "README" { "index".to_owned() } else { format!("{folder}{name}") })
            .collect()
    }

    #[test]
    fn every_page_is_there() {
        let there: BTreeSet<String> = ["", "sources/", "protocols/"].into_iter().flat_map(topics).collect();
        let embedded: BTreeSet<String> = PAGES.iter().map(|page| page.topic.to_owned()).collect();
        assert_eq!(embedded, there);
        for page in PAGES {
            assert!(page.text.starts_with("# "), "{} has a heading", page.topic);
        }
    }
}
