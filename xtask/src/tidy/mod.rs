//! `tidy`: the rules about the source tree that no compiler knows. One file per rule; `--help` lists them.

mod borders;
mod counts;
mod edges;
mod finding;
mod head;
mod links;
mod maps;
mod marks;
mod named_tests;
mod names;
mod outside;
mod paths;
mod prose;
mod retired;
mod rust_file;
mod short_docs;
mod size;
mod test_code;
mod tokens;
pub(crate) mod tracked;
mod unique;

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
  size      a file has at most 400 lines (600 below tests/), a function 50 (100 in test code);
            half of the files of the product have at most 120
  maps      the README.md of a crate, of a protocol folder, and any other below crates/ and
            xtask/, has a table whose first column is `file`. Names in backticks there, relative
            to the folder or to its src/, are files, or folders with a `/` at the end, and exist.
            Every .rs file of the folder and below is named, or a folder around it is, or it lies
            in a folder with a README.md of its own. mod.rs and lib.rs need not be named
  unique    no two `pub` types (struct, enum, union, trait, type) of crates/*/src and xtask/src
            have one name; test code does not count
  docs      no doc comment (`///`, all its lines together) has one or two words
  retired   no type, module or file is named by a word of the list of retired words
  prose     the text of README.md, docs/ and examples/ has no retired word; that text, messages in
            crates/ and help texts have none of a list of phrases that are hard to read
  names     no utils, util, common, types, helpers, helper, misc, prelude
  head      every .rs file starts with a `//!` line
  tokens    no #[ignore], todo!, unimplemented!, #[allow];
            outside tests no .unwrap(), no tokio::spawn and no TaskTracker::new().spawn
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

/// What the rules look at: every text file, the Rust files parsed, and which of their lines are test code.
struct Tree {
    tracked: Vec<Tracked>,
    rust: Vec<RustFile>,
    test_code: TestCode,
    /// Files that do not parse.
    broken: Vec<Finding>,
}

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let findings = inspect(workspace)?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => bail!("{count} to fix; `cargo xtask tidy --help` explains the rules"),
    }
}

/// Prints the size and shape of the code.
pub(crate) fn count(workspace: &Workspace) -> anyhow::Result<()> {
    let tree = read(workspace)?;
    println!("{}", counts::report(&tree.tracked, &tree.rust, &tree.test_code));
    Ok(())
}

fn read(workspace: &Workspace) -> anyhow::Result<Tree> {
    let tracked = tracked::list(&workspace.root)?;
    let (mut rust, mut broken) = (Vec::new(), Vec::new());
    for file in tracked.iter().filter(|file| file.is_rust()) {
        match RustFile::parse(&file.path, &file.text) {
            Ok(parsed) => rust.push(parsed),
            Err(error) => {
                broken.push(Finding::new(&file.path, 1, format!("does not parse: {error}"), "fix it"));
            }
        }
    }
    let test_code = TestCode::of(&rust);
    Ok(Tree { tracked, rust, test_code, broken })
}

fn inspect(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let Tree { tracked, rust, test_code, broken } = read(workspace)?;
    let mut findings = edges::check(&workspace.metadata);
    findings.extend(broken);
    findings.extend(named_tests::check(&tracked));
    findings.extend(maps::check(&tracked));
    findings.extend(unique::check(&rust, &test_code));
    findings.extend(size::median_file(&tracked));
    for file in &tracked {
        findings.extend(whole_file(file, &workspace.root));
    }
    let protocols = borders::folders(&tracked);
    for file in &rust {
        findings.extend(size::functions(file, &test_code));
        findings.extend(tokens::check(file, &test_code));
        findings.extend(borders::check(file, &protocols));
        findings.extend(prose::messages(file, &test_code));
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
        findings.extend(short_docs::check(file));
    }
    findings.extend(prose::page(file));
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
