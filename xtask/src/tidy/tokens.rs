//! Words that must not be written, outside or inside test code. Strings and comments do not count.

use crate::tidy::finding::Finding;
use crate::tidy::rust_file::{RustFile, Token};
use crate::tidy::test_code::TestCode;

struct Rule {
    tokens: &'static [&'static str],
    scope: Scope,
    what: &'static str,
    remedy: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everywhere,
    OutsideTests,
    /// In test code, but for paused time and `until` functions.
    Sleep,
}

const TRACKER: &str = "give the task an owner that awaits it: a JoinSet or a TaskTracker";
const KEEP: &str =
    "a tracker that is dropped lets its tasks go: keep it where the task is awaited or cancelled";
const EXPECT: &str = "write #[expect(lint, reason = \"…\")]";
const WAIT: &str = "wait for the event itself, pause the time, or poll in a function named `until…`";
const WRITE: &str = "write it or leave it out";

const RULES: &[Rule] = &[
    rule(&["#", "[", "ignore", "]"], Scope::Everywhere, "an ignored test", "make it run or delete it"),
    rule(&["#", "[", "ignore", "="], Scope::Everywhere, "an ignored test", "make it run or delete it"),
    rule(&["#", "[", "allow", "("], Scope::Everywhere, "`allow` of a lint", EXPECT),
    rule(&["#", "!", "[", "allow", "("], Scope::Everywhere, "`allow` of a lint", EXPECT),
    rule(&["todo", "!"], Scope::Everywhere, "`todo!`", WRITE),
    rule(&["unimplemented", "!"], Scope::Everywhere, "`unimplemented!`", WRITE),
    rule(&["tokio", "::", "spawn", "("], Scope::OutsideTests, "a task nobody waits for", TRACKER),
    rule(
        &["tokio", "::", "task", "::", "spawn", "("],
        Scope::OutsideTests,
        "a task nobody waits for",
        TRACKER,
    ),
    rule(&["task", "::", "spawn", "("], Scope::OutsideTests, "a task nobody waits for", TRACKER),
    rule(&["use", "tokio", "::", "spawn"], Scope::OutsideTests, "a task nobody waits for", TRACKER),
    rule(
        &["TaskTracker", "::", "new", "(", ")", ".", "spawn"],
        Scope::OutsideTests,
        "a task nobody waits for",
        KEEP,
    ),
    rule(
        &["TaskTracker", "::", "default", "(", ")", ".", "spawn"],
        Scope::OutsideTests,
        "a task nobody waits for",
        KEEP,
    ),
    rule(
        &[".", "unwrap", "(", ")"],
        Scope::OutsideTests,
        "`.unwrap()`",
        "use `?`, or `expect` with why it cannot fail",
    ),
    rule(&["sleep", "("], Scope::Sleep, "a sleep in a test", WAIT),
    rule(&["sleep_until", "("], Scope::Sleep, "a sleep in a test", WAIT),
];

pub(crate) fn check(file: &RustFile, test_code: &TestCode) -> Vec<Finding> {
    let mut findings = Vec::new();
    for start in 0..file.tokens.len() {
        let found = RULES.iter().find(|rule| applies(rule, file, start, test_code));
        findings.extend(
            found.map(|rule| Finding::new(&file.path, file.tokens[start].line, rule.what, rule.remedy)),
        );
    }
    findings
}

const fn rule(
    tokens: &'static [&'static str],
    scope: Scope,
    what: &'static str,
    remedy: &'static str,
) -> Rule {
    Rule { tokens, scope, what, remedy }
}

fn applies(rule: &Rule, file: &RustFile, start: usize, test_code: &TestCode) -> bool {
    let rest = &file.tokens[start..];
    // Of `tokio::task::spawn` the whole path is reported, and not `task::spawn` again.
    let is_tail = start > 0 && file.tokens[start - 1].text == "::" && rule.tokens[0] == "task";
    if is_tail || !begins_with(rest, rule.tokens) {
        return false;
    }
    let line = rest[0].line;
    match rule.scope {
        Scope::Everywhere => true,
        Scope::OutsideTests => !test_code.contains(file, line),
        Scope::Sleep => test_code.contains(file, line) && is_call(file, start) && !may_sleep(file, line),
    }
}

fn begins_with(tokens: &[Token], pattern: &[&str]) -> bool {
    tokens.len() >= pattern.len() && tokens.iter().zip(pattern).all(|(token, text)| token.text == *text)
}

fn is_call(file: &RustFile, start: usize) -> bool {
    start == 0 || file.tokens[start - 1].text != "fn"
}

fn may_sleep(file: &RustFile, line: usize) -> bool {
    file.function_at(line).is_some_and(|function| {
        function.name.starts_with("until") || function.starts_paused || pauses(file, function.lines.clone())
    })
}

fn pauses(file: &RustFile, lines: std::ops::RangeInclusive<usize>) -> bool {
    let inside = |pair: &&[Token]| lines.contains(&pair[0].line);
    file.tokens.windows(2).filter(inside).any(|pair| begins_with(pair, &["pause", "("]))
}

#[cfg(test)]
mod tests {
    use super::check as inspect;
    use crate::tidy::finding::brief;
    use crate::tidy::rust_file::RustFile;
    use crate::tidy::test_code::TestCode;

    fn check(path: &str, text: &str, expect: &[&str]) {
        let file = RustFile::parse(path, text).unwrap();
        assert_eq!(brief(inspect(&file, &TestCode::of(&[]))), expect, "{text}");
    }

    #[test]
    fn some_words_are_never_written() {
        check("src/a.rs", "#[test]\n#[ignore]\nfn f() {}", &["2: an ignored test"]);
        check("src/a.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}", &["2: an ignored test"]);
        check("src/a.rs", "#![allow(dead_code)]", &["1: `allow` of a lint"]);
        check(
            "src/a.rs",
            "#[allow(dead_code)]\nfn f() {\n  todo!()\n}",
            &["1: `allow` of a lint", "3: `todo!`"],
        );
        check("tests/a.rs", "fn f() {\n  dbg(vec![unimplemented!()]);\n}", &["2: `unimplemented!`"]);
        check("src/a.rs", "#[expect(dead_code, reason = \"x\")]\nfn ignore() { allow(1); }", &[]);
    }

    #[test]
    fn strings_and_comments_do_not_count() {
        check("src/a.rs", "// todo!() .unwrap()\n/// x.unwrap()\nfn f() { g(\"todo!() .unwrap()\"); }", &[]);
    }

    #[test]
    fn tests_may_unwrap_and_spawn() {
        let text = "fn f() {\n  tokio::spawn(g());\n  h().unwrap();\n  tokio::task::spawn(g());\n}";
        check("tests/a.rs", text, &[]);
        check(
            "src/a.rs",
            text,
            &["2: a task nobody waits for", "3: `.unwrap()`", "4: a task nobody waits for"],
        );
        check("src/a.rs", "use tokio::spawn;", &["1: a task nobody waits for"]);
        let detached = "fn f() {\n  TaskTracker::new().spawn(g());\n  tokio_util::task::TaskTracker::default().spawn(g());\n}";
        check("src/a.rs", detached, &["2: a task nobody waits for", "3: a task nobody waits for"]);
        check("tests/a.rs", detached, &[]);
        check("src/a.rs", "fn f() { let tasks = TaskTracker::new(); tasks.spawn(g()); }", &[]);
        check("src/a.rs", "fn f() { tasks.spawn(g()); std::thread::spawn(h); x.unwrap_or(1); }", &[]);
    }

    #[test]
    fn tests_sleep_only_on_paused_time_or_while_polling() {
        check("src/a.rs", "fn f() { sleep(D); }", &[]);
        check("tests/a.rs", "fn f() { std::thread::sleep(D); }", &["1: a sleep in a test"]);
        check(
            "src/a.rs",
            "#[cfg(test)]\nmod m {\n  fn f() { sleep_until(D); }\n}",
            &["3: a sleep in a test"],
        );
        check("tests/a.rs", "#[tokio::test(start_paused = true)]\nasync fn f() { sleep(D).await; }", &[]);
        check("tests/a.rs", "async fn f() {\n  tokio::time::pause();\n  sleep(D).await;\n}", &[]);
        check("tests/a.rs", "fn until_it_is_gone() { while there() { sleep(D); } }", &[]);
        check("tests/a.rs", "fn sleep(duration: Duration) {}", &[]);
    }
}
