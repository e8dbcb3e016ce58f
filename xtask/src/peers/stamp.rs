//! Remembering what a folder was made from, so that a second run does nothing.

use std::fs;
use std::path::Path;

use anyhow::Context;

const NAME: &str = ".made-from";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Now,
    Before,
}

/// Calls `make` with an empty folder unless the folder was already made from the same `recipe`.
/// A `make` that fails leaves no mark: the next run starts anew.
pub(crate) fn once(
    folder: &Path,
    recipe: &str,
    make: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Made> {
    let mark = folder.join(NAME);
    if fs::read_to_string(&mark).is_ok_and(|made_from| made_from == recipe) {
        return Ok(Made::Before);
    }
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty `{}`", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    make()?;
    fs::write(&mark, recipe).with_context(|| format!("cannot write `{}`", mark.display()))?;
    Ok(Made::Now)
}

#[cfg(test)]
mod tests {
    use super::{Made, once};
    use anyhow::anyhow;
    use std::fs;

    /// Recipes one after another in one folder, `!` for one that fails; gives back what was made when.
    fn check(recipes: &[&str], expect: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        let made = recipes.iter().map(|recipe| {
            let result = once(&kept, recipe, || {
                assert_eq!(fs::read_dir(&kept).unwrap().count(), 0, "the folder is empty");
                fs::write(kept.join("leftover"), recipe).unwrap();
                if recipe.starts_with('!') { Err(anyhow!("no")) } else { Ok(()) }
            });
            match result {
                Ok(Made::Now) => "now",
                Ok(Made::Before) => "before",
                Err(_) => "failed",
            }
        });
        assert_eq!(made.collect::<Vec<_>>(), expect);
    }

    #[test]
    fn the_same_recipe_is_made_once() {
        check(&["a", "a", "b", "a"], &["now", "before", "now", "now"]);
    }

    #[test]
    fn a_failure_is_tried_again() {
        check(&["!a", "!a", "a", "a"], &["failed", "failed", "now", "before"]);
    }
}
