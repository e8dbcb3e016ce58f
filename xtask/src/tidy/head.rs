//! Every file opens by saying what lives in it.

use crate::tidy::finding::Finding;
use crate::tidy::tracked::Tracked;

pub(crate) fn check(file: &Tracked) -> Option<Finding> {
    let says = file.text.strip_prefix("//!").and_then(|rest| rest.lines().next());
    if says.is_some_and(|line| !line.trim().is_empty()) {
        return None;
    }
    Some(Finding::new(&file.path, 1, "does not say what lives here", "start with a `//!` line"))
}

#[cfg(test)]
mod tests {
    use super::check as inspect;
    use crate::tidy::finding::brief;
    use crate::tidy::tracked::Tracked;

    fn check(text: &str, expect: &[&str]) {
        let file = Tracked { path: "src/a.rs".to_owned(), text: text.to_owned() };
        assert_eq!(brief(inspect(&file)), expect, "{text}");
    }

    #[test]
    fn the_first_line_says_what_lives_here() {
        check("//! What a call is.\nfn f() {}", &[]);
        check("fn f() {}", &["1: does not say what lives here"]);
        check("//!\n//! What a call is.", &["1: does not say what lives here"]);
        check("", &["1: does not say what lives here"]);
    }
}
