//! Files and functions stay small enough to be read in one go.

use crate::tidy::finding::Finding;
use crate::tidy::rust_file::RustFile;
use crate::tidy::tracked::Tracked;

const FILE: usize = 600;
const FUNCTION: usize = 60;
const FUNCTION_IN_TESTS: usize = 100;

pub(crate) fn file(file: &Tracked) -> Option<Finding> {
    let length = file.text.lines().count();
    let what = format!("{length} lines, {FILE} are the most");
    (length > FILE).then(|| Finding::new(&file.path, FILE + 1, what, "split the file by what it holds"))
}

pub(crate) fn functions(file: &RustFile) -> Vec<Finding> {
    let most = if file.path.split('/').any(|part| part == "tests") { FUNCTION_IN_TESTS } else { FUNCTION };
    let long = file.functions.iter().filter(|function| function.length() > most);
    long.map(|function| {
        let what = format!("`{}` has {} lines, {most} are the most", function.name, function.length());
        Finding::new(&file.path, *function.lines.start(), what, "split the function by what it does")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{file, functions};
    use crate::tidy::finding::brief;
    use crate::tidy::rust_file::RustFile;
    use crate::tidy::tracked::Tracked;

    /// A method whose body has so many lines between its braces.
    fn check(path: &str, body: usize, expect: &[&str]) {
        let text = format!(
            "struct S;\nimpl S {{\n/// Doc.\n#[inline]\nfn f() {{\n{}}}\n}}\n",
            "g();\n".repeat(body)
        );
        let tracked = Tracked { path: path.to_owned(), text };
        let mut found = brief(functions(&RustFile::parse(path, &tracked.text).unwrap()));
        found.extend(brief(file(&tracked)));
        assert_eq!(found, expect);
    }

    #[test]
    fn functions_are_measured_with_their_braces_and_without_their_docs() {
        check("src/a.rs", 58, &[]);
        check("src/a.rs", 59, &["5: `f` has 61 lines, 60 are the most"]);
    }

    #[test]
    fn tests_may_be_longer() {
        check("tests/it/a.rs", 98, &[]);
        check("tests/it/a.rs", 99, &["5: `f` has 101 lines, 100 are the most"]);
    }

    #[test]
    fn files_end_somewhere() {
        let expect = ["5: `f` has 595 lines, 60 are the most", "601: 601 lines, 600 are the most"];
        check("src/a.rs", 593, &["5: `f` has 595 lines, 60 are the most"]);
        check("src/a.rs", 594, &["5: `f` has 596 lines, 60 are the most", expect[1]]);
    }
}
