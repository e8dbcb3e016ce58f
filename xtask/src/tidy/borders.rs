//! Protocol folders never name each other: each can be read, and removed, alone.

use std::collections::BTreeSet;

use crate::tidy::finding::Finding;
use crate::tidy::rust_file::{RustFile, Token};
use crate::tidy::tracked::Tracked;

const PROTOCOLS: &str = "crates/protocols/src/";
/// Folders beside those of the protocols, for all of them.
const SHARED: [&str; 3] = ["child", "documents", "http_request"];
const REMEDY: &str = "move what both need to core, to http or to a file beside the folders";

/// The names of the protocol folders.
pub(crate) fn folders(files: &[Tracked]) -> BTreeSet<String> {
    files
        .iter()
        .filter(|file| file.is_rust())
        .filter_map(|file| folder(&file.path))
        .filter(|folder| !SHARED.contains(folder))
        .map(str::to_owned)
        .collect()
}

pub(crate) fn check(file: &RustFile, protocols: &BTreeSet<String>) -> Vec<Finding> {
    let Some(own) = folder(&file.path) else { return Vec::new() };
    let mut findings = Vec::new();
    for start in 0..file.tokens.len() {
        for name in named_from(&file.tokens[start..]) {
            if name.text != own && protocols.contains(&name.text) {
                let what = format!("`{own}` names `{}`", name.text);
                findings.push(Finding::new(&file.path, name.line, what, REMEDY));
            }
        }
    }
    findings
}

fn folder(path: &str) -> Option<&str> {
    path.strip_prefix(PROTOCOLS)?.split_once('/').map(|(folder, _)| folder)
}

/// What follows `crate::` or `super::`: one name, or the first names of a group in braces.
fn named_from(tokens: &[Token]) -> Vec<&Token> {
    let [origin, separator, rest @ ..] = tokens else { return Vec::new() };
    if !matches!(origin.text.as_str(), "crate" | "super") || separator.text != "::" {
        return Vec::new();
    }
    match rest.first() {
        Some(open) if open.text == "{" => names_of_group(&rest[1..]),
        Some(name) => vec![name],
        None => Vec::new(),
    }
}

fn names_of_group(tokens: &[Token]) -> Vec<&Token> {
    let mut names: Vec<&Token> = tokens.first().into_iter().collect();
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" if depth == 0 => break,
            "}" => depth -= 1,
            "," if depth == 0 => names.extend(tokens.get(index + 1)),
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::check as inspect;
    use crate::tidy::finding::brief;
    use crate::tidy::rust_file::RustFile;

    fn check(path: &str, text: &str, expect: &[&str]) {
        let protocols = ["mcp", "opentool", "oxp"].map(str::to_owned).into();
        let file = RustFile::parse(path, text).unwrap();
        assert_eq!(brief(inspect(&file, &protocols)), expect, "{text}");
    }

    #[test]
    fn a_protocol_does_not_name_another() {
        let path = "crates/protocols/src/oxp/wire.rs";
        check(path, "use crate::opentool::wire;", &["1: `oxp` names `opentool`"]);
        check(path, "fn f() {\n  super::super::mcp::g();\n}", &["2: `oxp` names `mcp`"]);
        check(path, "use crate::{jsonrpc, oxp::{wire, mcp}, mcp::wire};", &["1: `oxp` names `mcp`"]);
    }

    #[test]
    fn a_protocol_names_itself_and_what_lies_beside_the_folders() {
        check(
            "crates/protocols/src/oxp/serve.rs",
            "use crate::oxp::wire; use crate::documents::fault; use super::wire;",
            &[],
        );
        check("crates/protocols/src/lib.rs", "use crate::oxp; use crate::mcp;", &[]);
        check("crates/toolmux/src/main.rs", "use crate::oxp;", &[]);
    }
}
