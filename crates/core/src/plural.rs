//! A number with what it counts, for people: "1 tool", "2 tools".

/// The number and the noun, which gets an `s` unless there is one of it.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "tool")), ["0 tools", "1 tool", "2 tools"]);
    }
}
