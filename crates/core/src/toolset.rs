//! Toolsets: named selections of tools by pattern.

use crate::names::ToolId;

/// A named selection of tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolset {
    /// The name callers are given.
    pub name: String,
    /// Patterns over `Toolkit.tool`, and flat names.
    pub tools: Vec<Pattern>,
}

impl Toolset {
    /// True when the selection holds the tool, by its id or by the name its source gives it.
    pub fn holds(&self, id: &ToolId, own: &str) -> bool {
        self.tools.iter().any(|pattern| pattern.matches(id, own))
    }
}

/// A pattern over `Toolkit.tool`, where `*` stands for any text; or a flat name, `Toolkit_tool`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Takes a pattern.
    pub fn new(text: impl Into<String>) -> Self {
        Pattern(text.into())
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True when the pattern names one tool only.
    pub fn is_exact(&self) -> bool {
        !self.0.contains('*')
    }

    /// True when the tool fits, by its id, by the name its source gives it, or by its flat name with its toolkit. In a
    /// pattern without a dot `*` stands for a part of the toolkit alone: `*_admin` must not open tools of other toolkits.
    pub fn matches(&self, id: &ToolId, own: &str) -> bool {
        let is_tool = |tool: &str| fits(tool, &id.tool) || fits(tool, own);
        match self.0.split_once('.') {
            Some((toolkit, tool)) => fits(toolkit, &id.toolkit) && is_tool(tool),
            None => fits(&self.0, &id.toolkit) || self.flat_tool(&id.toolkit).is_some_and(is_tool),
        }
    }

    /// True when a tool of this toolkit could fit.
    pub fn may_fit(&self, toolkit: &str) -> bool {
        match self.0.split_once('.') {
            Some((wanted, _)) => fits(wanted, toolkit),
            None => fits(&self.0, toolkit) || self.flat_tool(toolkit).is_some(),
        }
    }

    /// The tool of a flat name of this toolkit.
    fn flat_tool(&self, toolkit: &str) -> Option<&str> {
        self.0.strip_prefix(toolkit)?.strip_prefix('_').filter(|_| self.is_exact())
    }
}

/// `pattern`, in which `*` stands for any text, against the whole of `text`.
pub fn fits(pattern: &str, text: &str) -> bool {
    // Greedy with one point to return to.
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t, mut back) = (0, 0, None);
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            back = Some((p, t));
            p += 1;
        } else if pattern.get(p) == Some(&text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((star, from)) = back {
            (p, t, back) = (star + 1, from + 1, Some((star, from + 1)));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|b| *b == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::Version;

    fn check(pattern: &str, toolkit: &str, own: &str, expect: bool) {
        let id = ToolId {
            toolkit: toolkit.into(),
            tool: crate::names::plain_name(own).into(),
            version: Version::FIRST,
        };
        assert_eq!(Pattern::new(pattern).matches(&id, own), expect, "{pattern} on {toolkit}.{own}");
    }

    #[test]
    fn stars_stand_for_any_text() {
        check("Math.*", "Math", "pow", true);
        check("Math.*", "Maths", "pow", false);
        check("*.get_*", "Time", "get_now", true);
        check("*", "Time", "now", true);
        check("Math", "Math", "sin", true);
        check("Math.*o*w", "Math", "poow", true);
    }

    #[test]
    fn a_tool_is_known_by_its_own_name_too() {
        check("Time.get-now", "Time", "get-now", true);
        check("Time.get_now", "Time", "get-now", true);
        check("Time.get_now", "Time", "get-then", false);
    }

    #[test]
    fn a_tool_is_known_by_its_flat_name() {
        check("Time_get-now", "Time", "get-now", true);
        check("Time_get_now", "Time", "get-now", true);
        check("Time_get*", "Time", "get-now", false);
        check("*_get-now", "Time", "get-now", false);
        check("Time_get-now", "Times", "get-now", false);
        check("get-now", "Time", "get-now", false);
    }

    #[test]
    fn a_pattern_that_can_fit_no_tool_of_a_toolkit_is_known() {
        for (pattern, expect) in [
            ("Math.pow", true),
            ("M*.pow", true),
            ("Math", true),
            ("Math_pow", true),
            ("Math_*", false),
            ("*", true),
            ("Maths.pow", false),
            ("Mat_*", false),
            ("pow", false),
        ] {
            assert_eq!(Pattern::new(pattern).may_fit("Math"), expect, "{pattern}");
        }
    }
}
