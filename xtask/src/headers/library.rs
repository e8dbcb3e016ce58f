//! One library of the table, and the steps of its story.

use super::story::Step;

pub(super) struct Library {
    pub(super) name: &'static str,
    /// The Debian package of the headers.
    pub(super) package: &'static str,
    pub(super) headers: &'static [&'static str],
    /// The library as the loader knows it.
    pub(super) file: &'static str,
    /// Further arguments of `describe`.
    pub(super) flags: &'static [&'static str],
    /// Answers to questions, as they stand in a file of answers.
    pub(super) answers: &'static str,
    /// Whether it needs files or devices.
    pub(super) open: bool,
    /// What the story shows, in words.
    pub(super) core: &'static str,
    pub(super) story: &'static [Step],
}

impl Library {
    pub(super) const PLAIN: Library = Library {
        name: "",
        package: "",
        headers: &[],
        file: "",
        flags: &[],
        answers: "",
        open: false,
        core: "",
        story: &[],
    };
}

pub(super) const fn call(tool: &'static str, arguments: &'static str) -> Step {
    Step { tool, arguments, keep: None, expect: None }
}

pub(super) const fn keep(
    tool: &'static str,
    arguments: &'static str,
    kept: (&'static str, &'static str),
) -> Step {
    Step { tool, arguments, keep: Some(kept), expect: None }
}

pub(super) const fn expect(
    tool: &'static str,
    arguments: &'static str,
    expected: (&'static str, &'static str),
) -> Step {
    Step { tool, arguments, keep: None, expect: Some(expected) }
}
