//! Words that were given up for the field's own terms: no type, module or file is named by one. The glossary of
//! ARCHITECTURE.md has the terms.

use crate::tidy::finding::Finding;
use crate::tidy::tracked::Tracked;

/// Each word, and the term to take instead.
pub(crate) const RETIRED: &[(&str, &str)] = &[
    ("asked", "take `RpcRequest`, or what it is"),
    ("askable", "take `PendingCallers`"),
    ("at_once", "take `repoll_on_wake`"),
    ("believe", "take `resolve`"),
    ("bells", "take `notifiers`"),
    ("beside", "take `prompts_and_resources`"),
    ("brokered", "take `TokenReply`"),
    ("came_back", "take `OAuthCallback`"),
    ("desk", "take `SessionState`"),
    ("doubtful", "take `UncertainClaim`"),
    ("entrance", "take `AdmissionInfo`"),
    ("ladder", "take `era`"),
    ("lane", "take `worker_queue`, or what it is"),
    ("manner", "take `…Options`"),
    ("minder", "take `supervisor`"),
    ("onward", "take `nested`"),
    ("pulse", "take `heartbeat`"),
    ("said", "name what it holds"),
    ("shelf", "take `SourceSlot`, `BoundedMap` or what it is"),
    ("talk", "take `ConnectionActivity`, or what it is"),
    ("teller", "take `UpdateNotifier`"),
    ("telling", "take `…_updates` or `…Notifier`"),
    ("told", "name what it holds"),
    ("upkeep", "take `maintenance`"),
    ("wish", "take `…Request`"),
];

pub(crate) fn check(file: &Tracked) -> Vec<Finding> {
    let stem = file.path.rsplit('/').next().and_then(|name| name.strip_suffix(".rs")).unwrap_or_default();
    let named = file.lines().filter_map(|(number, line)| Some((number, declared(line)?)));
    std::iter::once((1, stem.to_owned()))
        .chain(named)
        .filter_map(|(number, name)| {
            let (word, remedy) = RETIRED.iter().find(|(word, _)| *word == snake_case(&name))?;
            Some(Finding::new(&file.path, number, format!("`{word}` is a retired word"), remedy))
        })
        .collect()
}

/// The name of the type or module that a line declares.
fn declared(line: &str) -> Option<String> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub").map_or(line, |rest| {
        rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest)
    });
    let (keyword, rest) = line.trim_start().split_once(' ')?;
    let name = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    ["struct", "enum", "trait", "type", "mod"].contains(&keyword).then(|| name(rest))
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::check as inspect;
    use crate::tidy::finding::brief;
    use crate::tidy::tracked::Tracked;

    fn check(path: &str, text: &str, expect: &[&str]) {
        let file = Tracked { path: path.to_owned(), text: text.to_owned() };
        assert_eq!(brief(inspect(&file)), expect, "{path} {text}");
    }

    #[test]
    fn nothing_is_named_by_a_retired_word() {
        check("a/desk.rs", "//! x", &["1: `desk` is a retired word"]);
        check("a/b.rs", "pub(super) struct Shelf<T>(T);", &["1: `shelf` is a retired word"]);
        check("a/b.rs", "//! x\nmod telling;", &["2: `telling` is a retired word"]);
        check("a/b.rs", "pub enum CameBack {}", &["1: `came_back` is a retired word"]);
        check("a/b.rs", "let told = 1; // told\nstruct Desktop;\nfn desk() {}", &[]);
    }
}
