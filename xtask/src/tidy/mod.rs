//! `tidy`: the rules about the source tree that no compiler knows. One file per rule; `--help` lists them.

mod borders;
mod edges;
mod finding;
mod head;
mod links;
mod marks;
mod named_tests;
mod names;
mod outside;
mod paths;
mod retired;
mod rust_file;
mod size;
mod test_code;
mod tokens;
pub(crate) mod tracked;

use anyhow::bail;

use self::finding::Finding;
use self::rust_file::RustFile;
use self::test_code::TestCode;
use self::tracked::Tracked;
use crate::workspace::Workspace;

pub(crate) const RULES: &str = "\
The rules:
  edges     crates depend on each other only as ARCHITECTURE.md says, dev-dependencies only
            without a cycle
  size      a file has at most 600 lines, a function 60 (100 below tests/)
  retired   no type, module or file is named by a word of the list of retired words
  names     no utils, util, common, types, helpers, helper, misc, prelude
  head      every .rs file starts with a `//!` line
  tokens    no #[ignore], todo!, unimplemented!, #[allow];
            outside tests no .unwrap() and no tokio::spawn
  sleeps    test code sleeps only on paused time (`start_paused = true` or a call of pause()),
            or in a function whose name starts with `until`: the bounded poll of something
            outside this process. What never ends is std::future::pending()
  borders   a protocol folder never names another one
  marks     what is left to do names its issue: TODO(#12)
  paths     no absolute paths of somebody's machine
  outside   no path leaves the project: a clone alone is enough
  links     relative links of Markdown files lead somewhere
  tests     tests of attacks that Markdown files name exist

Test code is what lies below tests/ or benches/, in tests.rs, or under #[cfg(test)] or a
test attribute.";

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let findings = inspect(workspace)?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => bail!("{count} to mend; `cargo xtask tidy --help` tells the rules"),
    }
}

fn inspect(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let tracked = tracked::list(&workspace.root)?;
    let mut findings = edges::check(&workspace.metadata);
    findings.extend(named_tests::check(&tracked));
    let mut rust = Vec::new();
    for file in &tracked {
        findings.extend(whole_file(file, &workspace.root));
        if file.is_rust() {
            match RustFile::parse(&file.path, &file.text) {
                Ok(parsed) => rust.push(parsed),
                Err(error) => {
                    findings.push(Finding::new(&file.path, 1, format!("does not parse: {error}"), "fix it"));
                }
            }
        }
    }
    let test_code = TestCode::of(&rust);
    let protocols = borders::folders(&tracked);
    for file in &rust {
        findings.extend(size::functions(file));
        findings.extend(tokens::check(file, &test_code));
        findings.extend(borders::check(file, &protocols));
    }
    findings.sort();
    Ok(findings)
}

fn whole_file(file: &Tracked, root: &std::path::Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.is_rust() {
        findings.extend(size::file(file));
        findings.extend(names::check(&file.path));
        findings.extend(retired::check(file));
        findings.extend(head::check(file));
    }
    findings.extend(marks::check(file));
    findings.extend(paths::check(file));
    findings.extend(outside::check(file, root));
    findings.extend(links::check(file, root));
    findings
}

#[cfg(test)]
mod tests {
    use super::inspect;
    use crate::workspace::Workspace;

    #[test]
    fn the_tree_is_tidy() {
        let findings = inspect(&Workspace::find().unwrap()).unwrap();
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}", lines.join("\n"));
    }
}
