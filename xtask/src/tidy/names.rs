//! A file is named for what it holds, not for what it failed to be.

use crate::tidy::finding::Finding;

const FORBIDDEN: &[&str] = &["utils", "util", "common", "types", "helpers", "helper", "misc", "prelude"];
const REMEDY: &str = "name it for what it holds, or move each function to the type it serves";

pub(crate) fn check(path: &str) -> Option<Finding> {
    let mut parts = path.trim_end_matches(".rs").split('/');
    let name = parts.find(|part| FORBIDDEN.contains(part))?;
    Some(Finding::new(path, 1, format!("nobody can tell what is in `{name}`"), REMEDY))
}

#[cfg(test)]
mod tests {
    use super::check as inspect;
    use crate::tidy::finding::brief;

    fn check(path: &str, expect: &[&str]) {
        assert_eq!(brief(inspect(path)), expect);
    }

    #[test]
    fn files_and_folders_say_what_they_hold() {
        check("crates/core/src/utils.rs", &["1: nobody can tell what is in `utils`"]);
        check("crates/core/tests/common/mod.rs", &["1: nobody can tell what is in `common`"]);
        check("crates/core/src/call.rs", &[]);
        check("crates/core/src/utilisation.rs", &[]);
    }
}
