//! What is to be described: which headers, read how, and which of their functions.

use std::path::PathBuf;

/// Which comment describes a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comments {
    /// Whichever most functions of the header have.
    #[default]
    Auto,
    /// The one in front of it.
    Before,
    /// The one behind it, as in zlib.
    After,
}

/// Headers of one library and how they are read.
#[derive(Clone, Debug, Default)]
pub struct HeaderRequest {
    /// The headers, read one after the other as if one included them all.
    pub headers: Vec<PathBuf>,
    /// Folders of headers, as `-I`.
    pub includes: Vec<PathBuf>,
    /// Macros, as `-D`: `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// Packages whose compiler flags `pkg-config` knows.
    pub packages: Vec<String>,
    /// Where the comments are.
    pub comments: Comments,
    /// Which functions are described, and under which names.
    pub selection: Selection,
}

/// Which functions of a header are described, and under which names.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only functions that fit one of these patterns; all when there is none. `*` stands for anything.
    pub only: Vec<String>,
    /// Not these, as patterns.
    pub except: Vec<String>,
    /// What is taken off the front of names.
    pub strip_prefix: Option<String>,
}

/// Functions that end, replace or take over the process, or that cannot be used safely by anybody.
const DANGEROUS: [(&str, &str); 22] = [
    ("system", "it runs a command of the shell"),
    ("popen", "it runs a command of the shell"),
    ("exit", "it ends the process"),
    ("_exit", "it ends the process"),
    ("_Exit", "it ends the process"),
    ("quick_exit", "it ends the process"),
    ("abort", "it ends the process"),
    ("raise", "it ends the process"),
    ("kill", "it ends processes"),
    ("killpg", "it ends processes"),
    ("gets", "it writes as much as it reads, however small the buffer"),
    ("fork", "it doubles the process"),
    ("vfork", "it doubles the process"),
    ("daemon", "it doubles the process"),
    ("execv", "it replaces the process"),
    ("execve", "it replaces the process"),
    ("execvp", "it replaces the process"),
    ("fexecve", "it replaces the process"),
    ("longjmp", "it leaves the call without returning"),
    ("siglongjmp", "it leaves the call without returning"),
    ("pthread_exit", "it ends the thread of the worker"),
    ("free", "it frees what nobody may name by an address"),
];

impl Selection {
    /// Whether a function is described.
    pub fn wants(&self, name: &str) -> bool {
        let fits_any = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, name));
        (self.only.is_empty() || fits_any(&self.only)) && !fits_any(&self.except)
    }

    /// Why a function is left out unless `only` has its whole name.
    pub(super) fn danger(&self, name: &str) -> Option<&'static str> {
        let is_named = self.only.iter().any(|only| only == name);
        DANGEROUS.iter().find(|(known, _)| *known == name && !is_named).map(|(_, why)| *why)
    }

    /// The name that callers see.
    pub(super) fn shown<'a>(&self, name: &'a str) -> &'a str {
        let short = self.strip_prefix.as_deref().and_then(|prefix| name.strip_prefix(prefix));
        short.filter(|short| short.starts_with(|c: char| c.is_ascii_alphabetic())).unwrap_or(name)
    }
}

/// Whether a name fits a pattern with `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            (0..=name.len()).any(|at| name.is_char_boundary(at) && fits(rest, &name[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, expect) in [
            ("crc32", "crc32", true),
            ("crc32", "crc32_z", false),
            ("crc*", "crc32_z", true),
            ("*_open*", "sqlite3_open_v2", true),
            ("*_open", "sqlite3_open_v2", false),
        ] {
            assert_eq!(fits(pattern, name), expect, "{pattern} {name}");
        }
    }

    #[test]
    fn dangerous_functions_are_asked_for_by_name() {
        let every = Selection::default();
        assert!(every.danger("system").is_some() && every.danger("strlen").is_none());
        let named = Selection { only: vec!["system".into()], ..Selection::default() };
        assert!(named.danger("system").is_none());
        let pattern =
            Selection { only: vec!["sys*".into()], except: vec!["sysconf".into()], ..Selection::default() };
        assert!(pattern.danger("system").is_some() && pattern.wants("system") && !pattern.wants("sysconf"));
        let short = Selection { strip_prefix: Some("sqlite3_".into()), ..Selection::default() };
        assert_eq!((short.shown("sqlite3_open"), short.shown("sqlite3_3")), ("open", "sqlite3_3"));
    }
}
