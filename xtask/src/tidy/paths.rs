//! Nothing in the project depends on where somebody's machine keeps it.

use crate::tidy::finding::Finding;
use crate::tidy::tracked::Tracked;

// Put together here, so that this file does not find itself.
const FOLDERS: &[&str] = &[concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/ho", "me/")];

pub(crate) fn check(file: &Tracked) -> Vec<Finding> {
    let found = file.lines().filter_map(|(number, line)| {
        let folder = FOLDERS.iter().find(|folder| names(line, folder))?;
        Some(Finding::new(&file.path, number, format!("a path below {folder}"), "make it relative"))
    });
    found.collect()
}

/// The folder counts where a path begins, not in the middle of a longer path or an address.
fn names(line: &str, folder: &str) -> bool {
    let continues = |character: char| character.is_alphanumeric() || "/._-~}$*".contains(character);
    line.match_indices(folder).any(|(at, _)| !line[..at].ends_with(continues))
}

#[cfg(test)]
mod tests {
    use super::check as inspect;
    use crate::tidy::finding::brief;
    use crate::tidy::tracked::Tracked;

    fn check(line: &str, expect: usize) {
        let text = line.replace("HOME", concat!("/ho", "me/"));
        let file = Tracked { path: "a.md".to_owned(), text };
        assert_eq!(brief(inspect(&file)).len(), expect, "{line}");
    }

    #[test]
    fn absolute_paths_of_a_machine_are_found() {
        check("cd HOMEalice/toolmux", 1);
        check("document = \"HOMEalice/x.json\"", 1);
        check("/setsHOMEtools and https://example.orgHOMEx", 0);
        check("/usr/lib/x and ~/x", 0);
    }
}
