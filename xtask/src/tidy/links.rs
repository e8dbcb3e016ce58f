//! Relative links of Markdown files lead to a file or folder of the project.

use std::path::Path;

use crate::tidy::finding::Finding;
use crate::tidy::tracked::Tracked;

pub(crate) fn check(file: &Tracked, root: &Path) -> Vec<Finding> {
    if file.extension() != "md" {
        return Vec::new();
    }
    let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
    let mut findings = Vec::new();
    let mut in_code = false;
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let targets = if in_code { Vec::new() } else { targets(line) };
        for target in targets.into_iter().filter(|target| !leads_somewhere(target, folder, root)) {
            findings.push(Finding::new(
                &file.path,
                number,
                format!("`{target}` leads nowhere"),
                "mend the link",
            ));
        }
    }
    findings
}

/// The targets of `[text](target "title")`, `![alt](target)` and `[name]: target`.
fn targets(line: &str) -> Vec<String> {
    let plain = without_code(line);
    let mut rest = plain.as_str();
    let mut found = Vec::new();
    if let Some((_, target)) = rest.trim_start().strip_prefix('[').and_then(|name| name.split_once("]: ")) {
        found.extend(first_word(target));
    }
    while let Some((_, after)) = rest.split_once("](") {
        let end = after.find(')').unwrap_or(after.len());
        found.extend(first_word(&after[..end]));
        rest = &after[end..];
    }
    found
}

fn first_word(text: &str) -> Option<String> {
    text.split_whitespace().next().map(|word| word.trim_matches(['<', '>']).to_owned())
}

/// Drops `inline code`: every second part between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

fn leads_somewhere(target: &str, folder: &Path, root: &Path) -> bool {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    if path.is_empty() || target.contains("://") || target.starts_with("mailto:") {
        return true;
    }
    match path.strip_prefix('/') {
        Some(from_root) => root.join(from_root).exists(),
        None => root.join(folder).join(path).exists(),
    }
}

#[cfg(test)]
mod tests {
    use super::check as inspect;
    use crate::tidy::finding::brief;
    use crate::tidy::tracked::Tracked;
    use std::fs;

    /// A page in `docs/` of a project that also has `README.md` and `docs/other.md`.
    fn check(text: &str, expect: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("docs")).unwrap();
        fs::write(root.path().join("README.md"), "").unwrap();
        fs::write(root.path().join("docs/other.md"), "").unwrap();
        let file = Tracked { path: "docs/page.md".to_owned(), text: text.to_owned() };
        assert_eq!(brief(inspect(&file, root.path())), expect, "{text}");
    }

    #[test]
    fn links_lead_to_files_of_the_project() {
        check("[a](other.md), [b](../README.md#top) and ![c](/docs/other.md \"title\")", &[]);
        check(
            "text\n[a](missing.md) [b](gone/)",
            &["2: `missing.md` leads nowhere", "2: `gone/` leads nowhere"],
        );
        check("[name]: missing.md", &["1: `missing.md` leads nowhere"]);
    }

    #[test]
    fn other_places_and_code_are_not_followed() {
        check("[a](https://example.org/x) [b](#part) [c](mailto:a@example.org)", &[]);
        check("`[a](missing.md)`\n```\n[a](missing.md)\n```", &[]);
    }
}
