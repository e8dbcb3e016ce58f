//! The language of what users read: pages, help texts and messages have the terms of the field. Words that were given
//! up as names are refused on pages too, and so are turns of phrase that made sentences hard to read.

use crate::tidy::finding::Finding;
use crate::tidy::retired::RETIRED;
use crate::tidy::rust_file::RustFile;
use crate::tidy::test_code::TestCode;
use crate::tidy::tracked::Tracked;

/// Retired as names, and good words in a sentence.
const ORDINARY: [&str; 1] = ["asked"];

/// Each turn of phrase, and what to write instead.
const PHRASES: &[(&str, &str)] = &[
    ("pleases", "write what it depends on"),
    ("what is wanted and what", "write `the expected type and the received value`"),
    ("made of the code", "write `generated from the code`"),
    ("as it comes", "write `live`"),
    ("closed world", "write `external systems`"),
    ("gets a rest", "write `the circuit breaker opens`"),
    ("nothing is said", "write `by default`"),
    ("nothing else is said", "write `by default`"),
    ("is told", "say what it gets: an error, a message, a notification"),
    ("are told", "say what they get: an error, a message, a notification"),
    ("hears", "say what it gets: an error, a message, a notification"),
    ("costs the call", "write `fails only the call`"),
    ("costs only", "write `affects only`"),
    ("anew", "write `again`, or the verb that is meant: `reconnects`, `recreates`"),
    ("no wall", "write what it does not contain"),
    ("sent nowhere", "write what is aborted"),
    ("calls itself otherwise", "write what does not match"),
    ("is listened on", "write `binds to`"),
    ("them fewer", "write `prune` or `remove`"),
    ("to say it", "write `given`"),
    ("is no", "write `is not a …`"),
];

/// What may stand before or behind "is no": "there is no tool", "is no longer".
const THERE: [&str; 3] = ["there", "which", "where"];
const LONGER: &str = "longer";

/// A page for users: its text, without code.
pub(crate) fn page(file: &Tracked) -> Vec<Finding> {
    let is_page = file.path == "README.md"
        || (file.extension() == "md" && ["docs/", "examples/"].iter().any(|at| file.path.starts_with(at)));
    let mut findings = Vec::new();
    let mut in_code = !is_page;
    for (number, line) in file.lines() {
        if is_page && line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let text: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let words = words(&text);
        findings.extend(retired(&file.path, number, &words));
        findings.extend(phrases(&file.path, number, &words));
    }
    findings
}

/// The messages of the product, and the help texts of its command line.
pub(crate) fn messages(file: &RustFile, test_code: &TestCode) -> Vec<Finding> {
    if !file.path.starts_with("crates/") || !file.path.contains("/src/") {
        return Vec::new();
    }
    let helps = file.path.starts_with("crates/toolmux/src/cli/");
    let mut findings = Vec::new();
    for (index, token) in file.tokens.iter().enumerate() {
        let is_doc = index >= 2 && file.tokens[index - 2].text == "doc" && file.tokens[index - 1].text == "=";
        let is_text =
            token.text.starts_with('"') || token.text.starts_with("r\"") || token.text.starts_with("r#");
        if is_text && (helps || !is_doc) && !test_code.contains(file, token.line) {
            let words = words(&without_placeholders(&token.text));
            // A single word is a name or a value, such as a member of JSON, and not a message.
            let is_sentence = words.len() > 1;
            findings.extend(retired(&file.path, token.line, &words).into_iter().filter(|_| is_sentence));
            findings.extend(phrases(&file.path, token.line, &words));
        }
    }
    findings
}

/// A message without `{name}`, which is replaced when it is written.
fn without_placeholders(text: &str) -> String {
    let mut parts = text.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| kept + " " + part.split_once('}').map_or(part, |(_, rest)| rest))
}

fn retired(path: &str, line: usize, words: &[String]) -> Vec<Finding> {
    let found = RETIRED.iter().filter(|(word, _)| !ORDINARY.contains(word));
    found
        .filter(|(word, _)| words.iter().any(|each| each == word))
        .map(|(word, _)| {
            Finding::new(path, line, format!("`{word}` is a retired word"), "write the term of the field")
        })
        .collect()
}

fn phrases(path: &str, line: usize, words: &[String]) -> Vec<Finding> {
    let found = PHRASES.iter().filter(|(phrase, _)| occurs(phrase, words));
    found
        .map(|(phrase, remedy)| Finding::new(path, line, format!("`{phrase}` is hard to read"), remedy))
        .collect()
}

fn occurs(phrase: &str, words: &[String]) -> bool {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    let is_plain = |at: usize| {
        let before = at.checked_sub(1).map(|before| words[before].as_str());
        let behind = words.get(at + phrase.len()).map(String::as_str);
        phrase == ["is", "no"] && (before.is_some_and(|word| THERE.contains(&word)) || behind == Some(LONGER))
    };
    let mut places = words.windows(phrase.len()).enumerate().filter(|(_, window)| **window == phrase[..]);
    places.any(|(at, _)| !is_plain(at))
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '-');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{messages, page};
    use crate::tidy::finding::brief;
    use crate::tidy::rust_file::RustFile;
    use crate::tidy::test_code::TestCode;
    use crate::tidy::tracked::Tracked;

    fn check_page(path: &str, text: &str, expect: &[&str]) {
        let file = Tracked { path: path.to_owned(), text: text.to_owned() };
        assert_eq!(brief(page(&file)), expect, "{path}: {text}");
    }

    fn check_code(path: &str, text: &str, expect: &[&str]) {
        let file = RustFile::parse(path, text).unwrap();
        let test_code = TestCode::of(&[]);
        assert_eq!(brief(messages(&file, &test_code)), expect, "{path}: {text}");
    }

    #[test]
    fn pages_have_the_terms_of_the_field() {
        check_page("docs/a.md", "x\nThe ladder of revisions", &["2: `ladder` is a retired word"]);
        check_page("README.md", "It takes as long as the disk pleases.", &["1: `pleases` is hard to read"]);
        check_page("docs/a.md", "`the ladder`\n```\nit hears\n```\nThe user is asked again.", &[]);
        check_page("docs/a.md", "There is no tool. It is no longer there.", &[]);
        check_page("docs/a.md", "This is no tool.", &["1: `is no` is hard to read"]);
        check_page("xtask/README.md", "The ladder pleases", &[]);
    }

    #[test]
    fn messages_and_help_texts_too() {
        let is_no = ["1: `is no` is hard to read"];
        check_code("crates/a/src/b.rs", "const A: &str = \"`{x}` is no store\"; // is no comment", &is_no);
        check_code("crates/a/src/b.rs", "/// It hears.\nconst A: &str = \"there is no store\";", &[]);
        check_code(
            "crates/toolmux/src/cli/b.rs",
            "/// It hears.\nstruct A;",
            &["1: `hears` is hard to read"],
        );
        check_code(
            "crates/a/src/b.rs",
            "const A: &str = \"the caller was told\"; const B: &str = \"told\"; const C: &str = \"it says {told}\";",
            &["1: `told` is a retired word"],
        );
        check_code("crates/a/tests/b.rs", "const A: &str = \"is no store\";", &[]);
    }
}
