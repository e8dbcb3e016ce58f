//! `tidy --counts`: the size and shape of the code in numbers, to compare one state of it with another.

use std::collections::BTreeMap;

use crate::tidy::rust_file::RustFile;
use crate::tidy::test_code::{TestCode, in_test_folder};
use crate::tidy::tracked::Tracked;
use crate::tidy::unique::{doubled, is_product};
use crate::tidy::{retired, short_docs};

/// Numbers about the product: tests, examples and benches are left out, unless a line says otherwise.
pub(crate) fn report(tracked: &[Tracked], rust: &[RustFile], test_code: &TestCode) -> String {
    let rust_files: Vec<&Tracked> = tracked.iter().filter(|file| file.is_rust()).collect();
    let product: Vec<&Tracked> = rust_files.iter().copied().filter(|file| is_measured(&file.path)).collect();
    let parsed: Vec<&RustFile> = rust.iter().filter(|file| is_measured(&file.path)).collect();
    let retired = rust_files.iter().map(|file| retired::check(file).len()).sum::<usize>();
    let short_docs = rust_files.iter().map(|file| short_docs::check(file).len()).sum::<usize>();
    let rows = [
        files(&product),
        functions(&parsed, test_code),
        comments(&product),
        format!("retired words          {retired}"),
        format!("short doc comments     {short_docs}"),
        format!("doubled public types   {}", doubled(rust, test_code).len()),
        public_items(&parsed, test_code),
    ];
    rows.join("\n")
}

/// The code that the limits are about.
pub(crate) fn is_measured(path: &str) -> bool {
    is_product(path) && !in_test_folder(path)
}

/// The middle one of all values; of an even number the upper.
pub(crate) fn median(mut values: Vec<usize>) -> usize {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn files(product: &[&Tracked]) -> String {
    let lengths: Vec<usize> = product.iter().map(|file| file.text.lines().count()).collect();
    let largest = product.iter().max_by_key(|file| file.text.lines().count());
    let largest =
        largest.map_or_else(String::new, |file| format!("{} ({})", file.text.lines().count(), file.path));
    format!(
        "files                  {}\nlines                  {}\nmedian file            {}\nlargest file           {largest}",
        product.len(),
        lengths.iter().sum::<usize>(),
        median(lengths),
    )
}

fn functions(parsed: &[&RustFile], test_code: &TestCode) -> String {
    let functions =
        parsed.iter().flat_map(|file| file.functions.iter().map(move |function| (file, function)));
    let functions: Vec<_> =
        functions.filter(|(file, function)| !test_code.contains(file, *function.lines.start())).collect();
    let longest = functions.iter().max_by_key(|(_, function)| function.length());
    let longest = longest.map_or_else(String::new, |(file, function)| {
        format!("{} (`{}` of {})", function.length(), function.name, file.path)
    });
    let lengths = functions.iter().map(|(_, function)| function.length()).collect();
    format!(
        "functions              {}\nmedian function        {}\nlongest function       {longest}",
        functions.len(),
        median(lengths),
    )
}

/// Comments that are not docs: they say why.
fn comments(product: &[&Tracked]) -> String {
    let is_comment = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("// ") && !line.starts_with("// SAFETY")
    };
    let comments = product.iter().flat_map(|file| file.text.lines()).filter(is_comment).count();
    let lines = product.iter().flat_map(|file| file.text.lines()).count().max(1);
    let hundredths = comments * 10_000 / lines;
    format!("comments per 100 lines {}.{:02}", hundredths / 100, hundredths % 100)
}

fn public_items(parsed: &[&RustFile], test_code: &TestCode) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in parsed {
        let items = file.public_items.iter().filter(|item| !test_code.contains(file, item.line));
        let folder = file.path.split("/src/").next().unwrap_or_default();
        *counts.entry(folder).or_default() += items.count();
    }
    let rows: Vec<String> = counts.iter().map(|(folder, count)| format!("  {folder:<20} {count}")).collect();
    format!("public items\n{}", rows.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::report;
    use crate::tidy::rust_file::RustFile;
    use crate::tidy::test_code::TestCode;
    use crate::tidy::tracked::Tracked;

    #[test]
    fn the_product_is_counted_without_its_tests() {
        let text = "//! A.\npub struct S;\n// Why.\nfn f() {\n}\n#[cfg(test)]\nmod tests {\n  fn g() {}\n}\n";
        let tracked = ["crates/a/src/x.rs", "crates/a/tests/it/y.rs"]
            .map(|path| Tracked { path: path.to_owned(), text: text.to_owned() });
        let rust: Vec<RustFile> =
            tracked.iter().map(|file| RustFile::parse(&file.path, &file.text).unwrap()).collect();
        let report = report(&tracked, &rust, &TestCode::of(&rust));
        for line in [
            "files                  1",
            "lines                  9",
            "largest file           9 (crates/a/src/x.rs)",
            "functions              1",
            "longest function       2 (`f` of crates/a/src/x.rs)",
            "comments per 100 lines 11.11",
            "doubled public types   0",
            "  crates/a             1",
        ] {
            assert!(report.lines().any(|said| said == line), "{line}\n{report}");
        }
    }
}
