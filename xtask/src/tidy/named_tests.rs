//! Pages that say how something is tested name tests that exist: `attacks::FILE::TEST`, or `attacks::FILE` for all of
//! a file.

use crate::tidy::finding::Finding;
use crate::tidy::tracked::Tracked;

/// Where the tests of attacks lie.
const ATTACKS: &str = "crates/toolmux/tests/it/attacks/";

pub(crate) fn check(tracked: &[Tracked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in tracked.iter().filter(|file| file.extension() == "md") {
        for (number, line) in page.lines() {
            for name in named(line).filter(|name| !exists(name, tracked)) {
                findings.push(Finding::new(
                    &page.path,
                    number,
                    format!("there is no test `attacks::{name}`"),
                    "name one that there is",
                ));
            }
        }
    }
    findings
}

/// What stands behind `attacks::` in `inline code`, which is every second part between backticks.
fn named(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("attacks::"))
}

fn exists(name: &str, tracked: &[Tracked]) -> bool {
    let (file, test) = name.split_once("::").unwrap_or((name, ""));
    let path = format!("{ATTACKS}{file}.rs");
    let declared = if test.is_empty() { String::new() } else { format!("fn {test}(") };
    tracked.iter().any(|tracked| tracked.path == path && tracked.text.contains(&declared))
}

#[cfg(test)]
mod tests {
    use super::check as inspect;
    use crate::tidy::finding::brief;
    use crate::tidy::tracked::Tracked;

    fn check(page: &str, expect: &[&str]) {
        let file = |path: &str, text: &str| Tracked { path: path.to_owned(), text: text.to_owned() };
        let tests = "#[test]\nfn a_stranger_gets_nothing() {}\n";
        let tracked = [file("docs/page.md", page), file("crates/toolmux/tests/it/attacks/routes.rs", tests)];
        assert_eq!(brief(inspect(&tracked)), expect, "{page}");
    }

    #[test]
    fn tests_that_a_page_names_exist() {
        check("| x | `attacks::routes::a_stranger_gets_nothing` |", &[]);
        check("`attacks::routes`, attacks::routes::gone is no code", &[]);
        check("a\n`attacks::routes::gone`", &["2: there is no test `attacks::routes::gone`"]);
        check(
            "`attacks::gone::a_stranger_gets_nothing`",
            &["1: there is no test `attacks::gone::a_stranger_gets_nothing`"],
        );
    }
}
