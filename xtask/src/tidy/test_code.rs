//! Which lines of the tree are test code.

use std::collections::HashSet;

use crate::tidy::rust_file::RustFile;

pub(crate) struct TestCode {
    /// Paths, without `.rs`, of modules that another file declares under `#[cfg(test)]`.
    declared: HashSet<String>,
}

impl TestCode {
    pub(crate) fn of(files: &[RustFile]) -> Self {
        let below = |file: &RustFile| -> Vec<String> {
            let folder = children(&file.path);
            file.test_modules.iter().map(|name| format!("{folder}/{name}")).collect()
        };
        Self { declared: files.iter().flat_map(below).collect() }
    }

    pub(crate) fn contains(&self, file: &RustFile, line: usize) -> bool {
        in_test_folder(&file.path)
            || file.test_lines.iter().any(|lines| lines.contains(&line))
            || self.declared.iter().any(|module| is_or_is_below(&file.path, module))
    }
}

pub(crate) fn in_test_folder(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "benches" | "tests.rs"))
}

/// The folder where the modules that a file declares are looked for.
fn children(path: &str) -> &str {
    let stem = path.trim_end_matches(".rs");
    match stem.rsplit_once('/') {
        Some((folder, "mod" | "lib" | "main")) => folder,
        _ => stem,
    }
}

fn is_or_is_below(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::TestCode;
    use crate::tidy::rust_file::RustFile;

    /// Which of the lines of `path` are test code, when `lib.rs` declares `#[cfg(test)] mod support;`.
    fn check(path: &str, text: &str, expect: &[usize]) {
        let root = RustFile::parse("src/lib.rs", "#[cfg(test)]\nmod support;\nmod product;").unwrap();
        let file = RustFile::parse(path, text).unwrap();
        let test_code = TestCode::of(&[root]);
        let lines = (1..=text.lines().count()).filter(|line| test_code.contains(&file, *line));
        assert_eq!(lines.collect::<Vec<_>>(), expect, "{path}");
    }

    #[test]
    fn folders_and_declarations_decide_about_whole_files() {
        check("tests/it/call.rs", "fn f() {}", &[1]);
        check("src/tests.rs", "fn f() {}", &[1]);
        check("src/support.rs", "fn f() {}", &[1]);
        check("src/support/server.rs", "fn f() {}", &[1]);
        check("src/supporter.rs", "fn f() {}", &[]);
        check("src/product.rs", "fn f() {}", &[]);
    }

    #[test]
    fn attributes_decide_about_items() {
        check(
            "src/a.rs",
            "fn f() {}\n#[test]\nfn g() {}\n#[tokio::test(start_paused = true)]\nasync fn h() {}",
            &[2, 3, 4, 5],
        );
        check("src/a.rs", "#[cfg(test)]\nmod m {\n  fn f() {}\n}\nfn g() {}", &[1, 2, 3, 4]);
        check("src/a.rs", "#[cfg(not(test))]\nmod m {}\n#[cfg(unix)]\nfn g() {}", &[]);
    }
}
