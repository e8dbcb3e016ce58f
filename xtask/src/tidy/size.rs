//! Files and functions stay small enough to be read in one go.

use crate::tidy::counts::{is_measured, median};
use crate::tidy::finding::Finding;
use crate::tidy::rust_file::RustFile;
use crate::tidy::test_code::{TestCode, in_test_folder};
use crate::tidy::tracked::Tracked;

const FILE: usize = 400;
const FILE_OF_TESTS: usize = 600;
const MEDIAN_FILE: usize = 120;
const FUNCTION: usize = 50;
const FUNCTION_IN_TESTS: usize = 100;

const SPLIT_FILE: &str = "split the file by what it holds";
const SPLIT_FUNCTION: &str = "split the function by what it does";

pub(crate) fn file(file: &Tracked) -> Option<Finding> {
    let is_longer = in_test_folder(&file.path);
    let most = if is_longer { FILE_OF_TESTS } else { FILE };
    let length = file.text.lines().count();
    let what = format!("{length} lines, {most} are the most");
    (length > most).then(|| Finding::new(&file.path, most + 1, what, SPLIT_FILE))
}

/// Half of all files are short.
pub(crate) fn median_file(files: &[Tracked]) -> Option<Finding> {
    let product = files.iter().filter(|file| file.is_rust() && is_measured(&file.path));
    let median = median(product.map(|file| file.text.lines().count()).collect());
    let what = format!("half of the files have {median} lines or more, {MEDIAN_FILE} are the most");
    (median > MEDIAN_FILE).then(|| Finding::new("Cargo.toml", 1, what, "split files by what they hold"))
}

pub(crate) fn functions(file: &RustFile, test_code: &TestCode) -> Vec<Finding> {
    let mut findings = Vec::new();
    for function in &file.functions {
        let start = *function.lines.start();
        let is_longer = test_code.contains(file, start);
        let most = if is_longer { FUNCTION_IN_TESTS } else { FUNCTION };
        if function.length() > most {
            let what = format!("`{}` has {} lines, {most} are the most", function.name, function.length());
            findings.push(Finding::new(&file.path, start, what, SPLIT_FUNCTION));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{file, functions, median_file};
    use crate::tidy::finding::brief;
    use crate::tidy::rust_file::RustFile;
    use crate::tidy::test_code::TestCode;
    use crate::tidy::tracked::Tracked;

    /// A method whose body has so many lines between its braces.
    fn check(path: &str, body: usize, expect: &[&str]) {
        let text = format!(
            "struct S;\nimpl S {{\n/// Doc.\n#[inline]\nfn f() {{\n{}}}\n}}\n",
            "g();\n".repeat(body)
        );
        let tracked = Tracked { path: path.to_owned(), text };
        let parsed = RustFile::parse(path, &tracked.text).unwrap();
        let mut found = brief(functions(&parsed, &TestCode::of(&[])));
        found.extend(brief(file(&tracked)));
        assert_eq!(found, expect);
    }

    #[test]
    fn functions_are_measured_with_their_braces_and_without_their_docs() {
        check("src/a.rs", 48, &[]);
        check("src/a.rs", 49, &["5: `f` has 51 lines, 50 are the most"]);
    }

    #[test]
    fn tests_may_be_longer() {
        check("tests/it/a.rs", 98, &[]);
        check("tests/it/a.rs", 99, &["5: `f` has 101 lines, 100 are the most"]);
        let expect = ["5: `f` has 596 lines, 100 are the most", "601: 601 lines, 600 are the most"];
        check("tests/it/a.rs", 594, &expect);
    }

    #[test]
    fn files_end_somewhere() {
        check("src/a.rs", 393, &["5: `f` has 395 lines, 50 are the most"]);
        let expect = ["5: `f` has 396 lines, 50 are the most", "401: 401 lines, 400 are the most"];
        check("src/a.rs", 394, &expect);
    }

    #[test]
    fn half_of_the_files_are_short() {
        let file = |lines: usize| Tracked { path: "crates/a/src/b.rs".to_owned(), text: "x\n".repeat(lines) };
        assert_eq!(brief(median_file(&[file(1), file(120), file(300)])), [""; 0]);
        let expect = ["1: half of the files have 121 lines or more, 120 are the most"];
        assert_eq!(brief(median_file(&[file(1), file(121), file(300)])), expect);
    }
}
