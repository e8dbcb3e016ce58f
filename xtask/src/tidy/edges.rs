//! Which crate may know which: the table of ARCHITECTURE.md, held against `cargo metadata`.

use std::collections::BTreeMap;

use cargo_metadata::{DependencyKind, Metadata};

use crate::tidy::finding::Finding;

/// A crate that is not here has no place in the workspace yet; nobody may know xtask.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("toolmux-core", &[]),
    ("toolmux-dylib-host", &[]),
    ("toolmux-fuzzing", &[]),
    ("toolmux-http", &["toolmux-core"]),
    ("toolmux-store", &["toolmux-core"]),
    ("toolmux-broker", &["toolmux-core", "toolmux-http"]),
    ("toolmux-console", &["toolmux-core", "toolmux-http"]),
    ("toolmux-protocols", &["toolmux-core", "toolmux-http", "toolmux-dylib-host"]),
    (
        "toolmux",
        &[
            "toolmux-core",
            "toolmux-http",
            "toolmux-store",
            "toolmux-broker",
            "toolmux-console",
            "toolmux-protocols",
            "toolmux-dylib-host",
        ],
    ),
    ("xtask", &["toolmux"]),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Product,
    Tests,
}

/// One dependency between two crates of the workspace.
struct Edge {
    from: String,
    to: String,
    used_in: Use,
}

pub(crate) fn check(metadata: &Metadata) -> Vec<Finding> {
    let root = &metadata.workspace_root;
    let manifests: BTreeMap<&str, &str> = metadata
        .packages
        .iter()
        .map(|package| {
            (package.name.as_str(), package.manifest_path.strip_prefix(root).map_or("", |path| path.as_str()))
        })
        .collect();
    let crates: Vec<&str> = manifests.keys().copied().collect();
    let broken = broken(&crates, &edges(metadata));
    broken
        .into_iter()
        .map(|(name, what, remedy)| {
            Finding::new(manifests.get(name.as_str()).unwrap_or(&""), 1, what, remedy)
        })
        .collect()
}

fn edges(metadata: &Metadata) -> Vec<Edge> {
    let mut edges = Vec::new();
    for package in &metadata.packages {
        for dependency in package.dependencies.iter().filter(|dependency| dependency.path.is_some()) {
            let used_in =
                if dependency.kind == DependencyKind::Development { Use::Tests } else { Use::Product };
            edges.push(Edge { from: package.name.to_string(), to: dependency.name.clone(), used_in });
        }
    }
    edges
}

/// The crate, what is wrong with it, and the remedy.
fn broken(crates: &[&str], edges: &[Edge]) -> Vec<(String, String, &'static str)> {
    let mut found = Vec::new();
    for name in crates.iter().filter(|name| may_know(name).is_none()) {
        let what = format!("nobody decided whom `{name}` may know");
        found.push(((*name).to_owned(), what, "add it to ARCHITECTURE.md and to xtask/src/tidy/edges.rs"));
    }
    for edge in edges.iter().filter(|edge| edge.used_in == Use::Product) {
        if may_know(&edge.from).is_some_and(|known| !known.contains(&edge.to.as_str())) {
            let what = format!("`{}` may not know `{}`", edge.from, edge.to);
            found.push((edge.from.clone(), what, "put what it needs behind a port of core"));
        }
    }
    for edge in edges.iter().filter(|edge| edge.used_in == Use::Tests && leads_back(edge, edges)) {
        let what = format!("the tests of `{}` need `{}`, which needs it in turn", edge.from, edge.to);
        found.push((edge.from.clone(), what, "move the test to the crate that knows both"));
    }
    found
}

fn may_know(name: &str) -> Option<&'static [&'static str]> {
    MAY_KNOW.iter().find(|(known, _)| *known == name).map(|(_, allowed)| *allowed)
}

fn leads_back(edge: &Edge, edges: &[Edge]) -> bool {
    let mut reached = vec![edge.to.as_str()];
    let mut next = 0;
    while let Some(name) = reached.get(next).copied() {
        for onward in edges.iter().filter(|onward| onward.from == name) {
            if !reached.contains(&onward.to.as_str()) {
                reached.push(&onward.to);
            }
        }
        next += 1;
    }
    reached.contains(&edge.from.as_str())
}

#[cfg(test)]
mod tests {
    use super::{Edge, Use, broken};

    /// `a > b` is a dependency, `a ~ b` one of the tests only.
    fn check(edges: &[&str], expect: &[&str]) {
        let parse = |text: &&str| {
            let (from, sign, to) = {
                let mut words = text.split(' ');
                (words.next().unwrap(), words.next().unwrap(), words.next().unwrap())
            };
            let used_in = if sign == "~" { Use::Tests } else { Use::Product };
            Edge { from: from.to_owned(), to: to.to_owned(), used_in }
        };
        let edges: Vec<Edge> = edges.iter().map(parse).collect();
        let crates: Vec<&str> = edges.iter().map(|edge| edge.from.as_str()).collect();
        let found: Vec<String> = broken(&crates, &edges).into_iter().map(|(_, what, _)| what).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn only_the_decided_edges_exist() {
        check(&["toolmux > toolmux-store", "toolmux-store > toolmux-core", "xtask > toolmux"], &[]);
        check(&["toolmux-core > toolmux-store"], &["`toolmux-core` may not know `toolmux-store`"]);
        check(&["toolmux-broker > toolmux-http", "toolmux-http > toolmux-core"], &[]);
        check(
            &["toolmux-protocols > toolmux-broker"],
            &["`toolmux-protocols` may not know `toolmux-broker`"],
        );
        check(&["toolmux-http > toolmux-protocols"], &["`toolmux-http` may not know `toolmux-protocols`"]);
        check(&["toolmux > xtask"], &["`toolmux` may not know `xtask`"]);
        check(&["newcomer > toolmux-core"], &["nobody decided whom `newcomer` may know"]);
    }

    #[test]
    fn tests_are_free_but_not_in_a_circle() {
        check(&["toolmux-store ~ toolmux-protocols", "toolmux-protocols > toolmux-core"], &[]);
        check(
            &["toolmux-core ~ toolmux-store", "toolmux-store > toolmux-core"],
            &["the tests of `toolmux-core` need `toolmux-store`, which needs it in turn"],
        );
        check(
            &["toolmux-store ~ toolmux-store"],
            &["the tests of `toolmux-store` need `toolmux-store`, which needs it in turn"],
        );
    }
}
