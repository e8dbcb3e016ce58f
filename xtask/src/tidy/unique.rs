//! No two public types of the workspace have one name: a name that is read stands for one thing.

use std::collections::BTreeMap;

use crate::tidy::finding::Finding;
use crate::tidy::rust_file::RustFile;
use crate::tidy::test_code::TestCode;

const REMEDY: &str = "make one of them pub(crate), or name both for what they are";

pub(crate) fn check(files: &[RustFile], test_code: &TestCode) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, places) in doubled(files, test_code) {
        for (path, line) in &places {
            let others =
                places.iter().filter(|(other, _)| other != path).map(|(other, _)| format!("`{other}`"));
            let others: Vec<String> = others.collect();
            let what = format!("`{name}` is also a public type of {}", others.join(", "));
            findings.push(Finding::new(path, *line, what, REMEDY));
        }
    }
    findings
}

/// The names that several public types have, each with the files and lines.
pub(crate) fn doubled<'a>(
    files: &'a [RustFile],
    test_code: &TestCode,
) -> BTreeMap<&'a str, Vec<(&'a str, usize)>> {
    let mut places: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for file in files.iter().filter(|file| is_product(&file.path)) {
        let types = file.public_items.iter().filter(|item| item.is_type);
        for item in types.filter(|item| !test_code.contains(file, item.line)) {
            places.entry(&item.name).or_default().push((&file.path, item.line));
        }
    }
    places.retain(|_, places| places.len() > 1);
    places
}

/// The code of the workspace, without its tests and examples.
pub(crate) fn is_product(path: &str) -> bool {
    (path.starts_with("crates/") || path.starts_with("xtask/")) && path.contains("/src/")
}

#[cfg(test)]
mod tests {
    use super::check as inspect;
    use crate::tidy::finding::brief;
    use crate::tidy::rust_file::RustFile;
    use crate::tidy::test_code::TestCode;

    fn check(files: &[(&str, &str)], expect: &[&str]) {
        let files: Vec<RustFile> =
            files.iter().map(|(path, text)| RustFile::parse(path, text).unwrap()).collect();
        assert_eq!(brief(inspect(&files, &TestCode::of(&files))), expect);
    }

    #[test]
    fn a_public_type_has_its_name_alone() {
        let a = ("crates/a/src/x.rs", "pub struct Call;");
        let b = "`Call` is also a public type of `crates/b/src/y.rs`";
        let also = "1: `Call` is also a public type of `crates/a/src/x.rs`";
        for item in
            ["pub enum Call {}", "pub trait Call {}", "pub type Call = u8;", "mod m { pub struct Call; }"]
        {
            check(&[a, ("crates/b/src/y.rs", item)], &[&format!("1: {b}"), also]);
        }
    }

    #[test]
    fn what_is_not_public_or_is_a_test_may_share_a_name() {
        let a = ("crates/a/src/x.rs", "pub struct Call;");
        check(&[a, ("crates/b/src/y.rs", "pub(crate) struct Call; struct Outcome;")], &[]);
        check(&[a, ("crates/b/src/y.rs", "#[cfg(test)]\nmod tests { pub struct Call; }")], &[]);
        check(&[a, ("crates/b/tests/it/y.rs", "pub struct Call;")], &[]);
        check(&[a, ("crates/b/src/y.rs", "pub fn Call() {}")], &[]);
    }
}
