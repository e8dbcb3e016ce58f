//! The metrics of a running server, and everything that is written about them: the table of the manual, the dashboard and
//! the alert rules name only what is exported.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use crate::process::{Serving, folder};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

const CONFIG: &str = r#"
store = "sqlite:records.db"

[keys.alice]
key = "alice-key"

[sources.Shell]
kind = "command"

[sources.Shell.tools.good]
description = "Returns"
command = ["true"]

[sources.Shell.tools.bad]
description = "Fails"
command = ["false"]

[sources.Nobody]
kind = "http"
url = "http://127.0.0.1:1"

[sources.Nobody.tools.get]
description = "There is no server"
request = "GET /"
"#;

const KEY: &str = "authorization: Bearer alice-key\r\n";

/// A server that has done something of each kind.
fn served() -> (tempfile::TempDir, Serving) {
    let folder = folder(CONFIG);
    let serving = Serving::start(folder.path());
    for tool in ["Shell.good", "Shell.bad", "Nobody.get", "Shell.made_up"] {
        let body = json!({ "tool_id": tool, "input": {}, "call_id": tool }).to_string();
        serving.post("/tools/call", KEY, body.as_bytes());
    }
    (folder, serving)
}

/// The names of exported samples, each with the labels that its samples have.
fn exported(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut names = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        match kind {
            "histogram" => {
                names.extend(
                    ["_bucket", "_sum", "_count"].map(|part| (format!("{name}{part}"), BTreeSet::new())),
                );
            }
            _ => drop(names.insert(name.to_owned(), BTreeSet::new())),
        }
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, labels) = line.split_once('{').unwrap_or((line.split(' ').next().unwrap(), ""));
        names.get_mut(name).unwrap_or_else(|| panic!("{name} has no type")).extend(labels_in(labels));
    }
    names
}

/// The names before `=` in a set of labels, or in the conditions of a query.
fn labels_in(text: &str) -> impl Iterator<Item = String> {
    let inside = text.split('}').next().unwrap_or_default();
    inside.split("\",").filter_map(|pair| Some(pair.split_once("=\"")?.0.trim().to_owned()))
}

/// The metrics of the manual with their labels.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = fs::read_to_string(format!("{DOCS}/operations.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `toolmux_"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let labels = cells[2].split(", ").filter(|label| !label.is_empty());
        (
            cells[1].trim_matches('`').to_owned(),
            labels.map(|label| label.trim_matches('`').to_owned()).collect(),
        )
    };
    rows.map(row).collect()
}

/// What a query says of one metric: its name as it is exported, and the labels of its conditions.
fn used(query: &str) -> Vec<(String, BTreeSet<String>)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let metric = |(at, _)| {
        let rest: &str = &query[at..];
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let conditions = rest[end..].strip_prefix('{').map(labels_in).into_iter().flatten();
        (rest[..end].to_owned(), conditions.collect())
    };
    query.match_indices("toolmux_").map(metric).collect()
}

/// The labels that a query groups by, without those that Prometheus adds.
fn grouped_by(query: &str) -> impl Iterator<Item = &str> {
    let lists = query.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
    lists.flat_map(|list| list.split(", ")).filter(|label| *label != "instance")
}

/// Queries of the dashboard and of the alert rules.
fn queries() -> Vec<String> {
    let dashboard = fs::read_to_string(format!("{DOCS}/grafana.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    let mut queries: Vec<String> =
        targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect();
    let rules = fs::read_to_string(format!("{DOCS}/alerts.yaml")).unwrap();
    let expressions = rules.lines().filter_map(|line| line.trim().strip_prefix("expr: "));
    queries.extend(expressions.map(str::to_owned));
    assert_eq!(rules.matches("- alert:").count(), rules.matches("expr: ").count());
    queries
}

#[test]
fn dashboard_rules_and_manual_name_what_is_exported() {
    let (_folder, serving) = served();
    let (status, text) = serving.get("/metrics", KEY);
    assert_eq!(status, 200);
    let (exported, documented) = (exported(&text), documented());
    let base = |name: &str| {
        let parts = ["_bucket", "_sum", "_count"];
        let histogram = parts.iter().find_map(|part| name.strip_suffix(part));
        histogram.filter(|base| documented.contains_key(*base)).unwrap_or(name).to_owned()
    };
    let names: BTreeSet<String> = exported.keys().map(|name| base(name)).collect();
    assert_eq!(names, documented.keys().cloned().collect());
    for (name, labels) in exported.iter().filter(|(_, labels)| !labels.is_empty()) {
        let labels: BTreeSet<_> = labels.iter().filter(|label| *label != "le").cloned().collect();
        assert_eq!(labels, documented[&base(name)], "{name}");
    }
    let queries = queries();
    assert!(queries.len() > 50, "{}", queries.len());
    let mut shown = BTreeSet::new();
    for query in &queries {
        let mut labels = BTreeSet::from(["le".to_owned()]);
        for (name, conditions) in used(query) {
            assert!(exported.contains_key(&name), "{name} is not exported: {query}");
            let has = &documented[&base(&name)];
            assert!(conditions.is_subset(has), "{name} has the labels {has:?}: {query}");
            labels.extend(has.iter().cloned());
            shown.insert(base(&name));
        }
        let unknown: Vec<&str> = grouped_by(query).filter(|label| !labels.contains(*label)).collect();
        assert_eq!(unknown, Vec::<&str>::new(), "{query}");
    }
    assert_eq!(shown, names, "the dashboard shows every metric");
}

#[test]
fn a_server_counts_calls_sources_and_writes() {
    let (_folder, serving) = served();
    let (_, text) = serving.get("/metrics", KEY);
    for line in [
        r#"toolmux_caller_calls_total{caller="alice",protocol="oxp",result="returned"} 1"#,
        r#"toolmux_calls_total{tool="Shell.bad",result="failed"} 1"#,
        r#"toolmux_source_processes{source="Shell"} 0"#,
        r#"toolmux_source_process_starts_total{source="Shell",result="started"} 2"#,
        r#"toolmux_source_connections{source="Nobody"} 0"#,
        // Three attempts, because nothing was sent.
        r#"toolmux_source_connects_total{source="Nobody",result="failed"} 3"#,
        // What only reads is not recorded.
        r#"toolmux_step_seconds_count{step="record"} 2"#,
        "toolmux_store_errors_total 0",
        "toolmux_store_queue 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    let written = text.lines().find_map(|line| line.strip_prefix("toolmux_store_write_seconds_count "));
    assert!(written.unwrap().parse::<u64>().unwrap() >= 3, "{written:?}");
}

#[test]
fn openmetrics_is_served_to_those_who_ask_for_it() {
    let (_folder, serving) = served();
    let accept = format!("{KEY}accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n");
    let (status, text) = serving.get("/metrics", &accept);
    assert_eq!(status, 200);
    assert!(text.ends_with("# EOF\n") && text.contains("# TYPE toolmux_calls counter\n"), "{text}");
}
