//! Patterns as ECMA-262 writes them with its flag `u`, which validators of clients read: documents hold those of Java, Python and
//! .NET too.

/// What may be escaped; in a class `-` too.
const SYNTAX: &str = "^$\\.*+?()[]{}|/";
/// Names that Java has for classes of ASCII, beside those that begin with `Is` and `In`.
const OF_JAVA: [&str; 14] = [
    "Lower",
    "Upper",
    "ASCII",
    "Alpha",
    "Digit",
    "Alnum",
    "Punct",
    "Graph",
    "Print",
    "Blank",
    "Cntrl",
    "XDigit",
    "Space",
    "javaLowerCase",
];

/// The pattern as clients read it; none for one with a class that they do not know.
pub(super) fn ecma_pattern(pattern: &str) -> Option<String> {
    let mut written = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    let mut in_class = false;
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.next()? {
                'A' if !in_class => written.push('^'),
                'Z' | 'z' if !in_class => written.push('$'),
                kind @ ('p' | 'P') => {
                    let (name, after) = rest.as_str().strip_prefix('{')?.split_once('}')?;
                    let is_java = OF_JAVA.contains(&name) || name.starts_with("Is") || name.starts_with("In");
                    if is_java || name.contains('\\') {
                        return None;
                    }
                    written.extend(['\\', kind, '{']);
                    written.push_str(name);
                    written.push('}');
                    rest = after.chars();
                }
                // It is itself, and would be a mistake with a backslash.
                plain if !is_escape(plain, in_class) => written.push(plain),
                escaped => written.extend(['\\', escaped]),
            },
            other => {
                in_class = other == '[' || (in_class && other != ']');
                written.push(other);
            }
        }
    }
    Some(written)
}

/// Whether a character behind a backslash needs it, or means something else with it.
fn is_escape(character: char, in_class: bool) -> bool {
    character.is_ascii_alphanumeric() || SYNTAX.contains(character) || (in_class && character == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_other_languages_are_written_as_clients_read_them() {
        for (pattern, expect) in [
            (r"^[A-Za-z0-9_@\ \.]{5,15}$", Some(r"^[A-Za-z0-9_@ \.]{5,15}$")),
            (r"[\w\-\_\#/]+\:\*", Some(r"[\w\-_#/]+:\*")),
            (r"a\-b", Some("a-b")),
            (r"\A\d+\Z", Some(r"^\d+$")),
            (r"\p{L}\P{Nd}", Some(r"\p{L}\P{Nd}")),
            (r"\A\S[\p{Print}]*\z", None),
            (r"[\p\{L\}]", None),
            ("end\\", None),
        ] {
            assert_eq!(ecma_pattern(pattern).as_deref(), expect, "{pattern}");
        }
    }
}
