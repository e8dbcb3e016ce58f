//! What a command printed against what a page says it prints. `...` stands for any text, alone on a line for any lines.

const ANY: &str = "...";

/// Whether the whole output is as expected.
pub(super) fn fits(expected: &[String], output: &str) -> bool {
    let expected = expected.join("\n");
    let expected: Vec<&str> = expected.trim_end().lines().map(str::trim_end).collect();
    let output: Vec<&str> = output.trim_end().lines().map(str::trim_end).collect();
    lines_fit(&expected, &output)
}

/// Whether the output so far begins as expected; what comes later is free.
pub(super) fn begins(expected: &[String], output: &str) -> bool {
    let open: Vec<String> = expected.iter().cloned().chain([ANY.to_owned()]).collect();
    fits(&open, output)
}

fn lines_fit(expected: &[&str], output: &[&str]) -> bool {
    match expected.split_first() {
        None => output.is_empty(),
        Some((first, rest)) if first.trim() == ANY => {
            (0..=output.len()).any(|skipped| lines_fit(rest, &output[skipped..]))
        }
        Some((first, rest)) => {
            output.split_first().is_some_and(|(line, below)| line_fits(first, line) && lines_fit(rest, below))
        }
    }
}

fn line_fits(expected: &str, line: &str) -> bool {
    let Some((head, mut expected)) = expected.split_once(ANY) else { return expected == line };
    let Some(mut line) = line.strip_prefix(head) else { return false };
    while let Some((part, rest)) = expected.split_once(ANY) {
        let Some(at) = line.find(part) else { return false };
        (expected, line) = (rest, &line[at + part.len()..]);
    }
    line.ends_with(expected)
}

#[cfg(test)]
mod tests {
    use super::{begins, fits};

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    fn check(expected: &str, output: &str, expect: bool) {
        assert_eq!(fits(&lines(expected), output), expect, "{expected:?} {output:?}");
    }

    #[test]
    fn dots_stand_for_any_text_and_any_lines() {
        check("1024", "1024\n", true);
        check("1024", "1025\n", false);
        check("1024", "1024\nmore\n", false);
        check("a\n...\nz", "a\nz\n", true);
        check("a\n...\nz", "a\nb\nc\nz\n", true);
        check("a\n...\nz", "a\nb\n", false);
        check("id ... of ...!", "id 7 of 9!", true);
        check("id ... of ...!", "id 7 in 9!", false);
        check("", "", true);
    }

    #[test]
    fn a_server_has_only_begun() {
        assert!(begins(&lines("ready ..."), "ready now\nlog\n"));
        assert!(!begins(&lines("ready ..."), "not yet\n"));
    }
}
