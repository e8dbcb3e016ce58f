//! Doc comments of one or two words repeat the name they stand above: they say more, or they are not there.

use crate::tidy::finding::Finding;
use crate::tidy::tracked::Tracked;

const FEWEST_WORDS: usize = 3;
const REMEDY: &str = "say what the name does not say, or leave it out";

pub(crate) fn check(file: &Tracked) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut lines = file.lines().peekable();
    while let Some((number, line)) = lines.next() {
        let Some(first) = doc(line) else { continue };
        let mut words = first.split_whitespace().count();
        while let Some(next) = lines.peek().and_then(|(_, line)| doc(line)) {
            words += next.split_whitespace().count();
            lines.next();
        }
        if words < FEWEST_WORDS {
            let what = format!("a doc comment of {words} word{}", if words == 1 { "" } else { "s" });
            findings.push(Finding::new(&file.path, number, what, REMEDY));
        }
    }
    findings
}

/// The text of a line that is a doc comment.
fn doc(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("///").filter(|text| !text.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::check as inspect;
    use crate::tidy::finding::brief;
    use crate::tidy::tracked::Tracked;

    fn check(text: &str, expect: &[&str]) {
        let file = Tracked { path: "xtask/src/a.rs".to_owned(), text: text.to_owned() };
        assert_eq!(brief(inspect(&file)), expect, "{text}");
    }

    #[test]
    fn docs_say_more_than_two_words() {
        check("/// Which.\nstruct S;", &["1: a doc comment of 1 word"]);
        check("struct S {\n    /// The id.\n    id: u8,\n}", &["2: a doc comment of 2 words"]);
        check("/// One.\n/// And more.\nstruct S;", &[]);
        check("/// How it ended.\nstruct S;\n// Yes.\n//// No.\nfn f() {} /// x", &[]);
    }
}
