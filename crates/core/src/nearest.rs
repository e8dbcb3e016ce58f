//! The nearest known name to a mistyped one, for every "did you mean".

/// How many names are compared at most: a miss must not become a way to burn our time.
const MOST_COMPARED: usize = 2_000;

/// The longest name that anything can be near to.
const LONGEST: usize = 256;

/// The shortest and the longest name that one slip is looked for in.
const SHORTEST: usize = 3;
const SHORT: usize = 12;

/// The nearest of `known` to `given`, when one is near enough to be meant.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > LONGEST {
        return None;
    }
    let given = given.to_ascii_lowercase();
    known
        .into_iter()
        .take(MOST_COMPARED)
        .map(|name| (likeness(&given, &name.to_ascii_lowercase()), name))
        .filter(|(score, name)| *score >= 0.8 && is_slip(&given, name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// Whether so few characters differ that a name is misspelt rather than another word.
fn is_slip(given: &str, name: &str) -> bool {
    let most = given.len().max(name.len()) / 3;
    strsim::osa_distance(given, &name.to_ascii_lowercase()) <= most.max(1)
}

/// From 0 to 1. In a short name one slip weighs much, so one slip alone always counts as near.
fn likeness(given: &str, name: &str) -> f64 {
    let score = strsim::jaro_winkler(given, name);
    let short = (SHORTEST..=SHORT).contains(&given.len()) && given.len().abs_diff(name.len()) <= 1;
    if short && strsim::osa_distance(given, name) <= 1 { score.max(0.9) } else { score }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: &str, expect: Option<&str>) {
        assert_eq!(nearest(given, ["listen", "store", "sources", "tools"]), expect);
    }

    #[test]
    fn a_typo_finds_the_word_meant() {
        check("lisen", Some("listen"));
        check("Source", Some("sources"));
        assert_eq!(nearest("mpc", ["ats", "mcp", "oxp"]), Some("mcp"));
        assert_eq!(nearest("kye", ["key", "sha256"]), Some("key"));
    }

    #[test]
    fn a_stranger_finds_nothing() {
        check("quux", None);
        assert_eq!(nearest("openapi", ["opendyn", "opentool"]), None);
        assert_eq!(nearest("tls", ["tools", "toolsets", "limits"]), None);
    }
}
