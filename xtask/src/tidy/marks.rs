//! What is left to do has an issue.

use crate::tidy::finding::Finding;
use crate::tidy::tracked::Tracked;

const CODE: &[&str] = &["rs", "toml", "sql", "sh", "py", "js", "ts", "html", "css", "c", "h", "yml", "yaml"];
const MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

pub(crate) fn check(file: &Tracked) -> Vec<Finding> {
    if !CODE.contains(&file.extension()) {
        return Vec::new();
    }
    let without = file.lines().filter_map(|(number, line)| Some((number, mark_without_issue(line)?)));
    without
        .map(|(number, mark)| {
            let remedy = concat!("write TO", "DO(#12) with the number of its issue, or do it");
            Finding::new(&file.path, number, format!("{mark} without an issue"), remedy)
        })
        .collect()
}

fn mark_without_issue(line: &str) -> Option<&'static str> {
    MARKS.iter().copied().find(|mark| {
        line.match_indices(mark)
            .any(|(at, _)| stands_alone(line, at, mark.len()) && !has_issue(&line[at + mark.len()..]))
    })
}

fn stands_alone(line: &str, at: usize, length: usize) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    !line[..at].ends_with(is_word) && !line[at + length..].starts_with(is_word)
}

fn has_issue(rest: &str) -> bool {
    let number = rest.strip_prefix("(#").and_then(|rest| rest.split_once(')'));
    number.is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::check as inspect;
    use crate::tidy::finding::brief;
    use crate::tidy::tracked::Tracked;

    fn check(path: &str, line: &str, expect: &[&str]) {
        let text = line.replace("MARK", concat!("TO", "DO"));
        let file = Tracked { path: path.to_owned(), text };
        let found: Vec<String> =
            brief(inspect(&file)).iter().map(|found| found.replace(concat!("TO", "DO"), "MARK")).collect();
        assert_eq!(found, expect, "{line}");
    }

    #[test]
    fn a_mark_names_its_issue() {
        check("a.rs", "fn f() {}\n// MARK: later", &["2: MARK without an issue"]);
        check("a.rs", "// MARK(#12): later", &[]);
        check("a.rs", "// MARK(alice): later", &["1: MARK without an issue"]);
        check("a.rs", "// MARKS and a todo list", &[]);
        check("a.md", "MARK", &[]);
    }
}
