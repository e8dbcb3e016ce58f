//! Names of tools: how callers write them, and how each source's own names become names we serve.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::version::Version;

/// The longest flat name, a limit that model vendors share.
pub const FLAT_LENGTH: usize = 64;

/// A tool as the catalogue knows it: `Calculator.Add@1.0.0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolId {
    /// The toolkit, `[A-Za-z0-9_]+`.
    pub toolkit: Box<str>,
    /// The tool within its toolkit, `[A-Za-z0-9_]+`.
    pub tool: Box<str>,
    /// The version of the tool.
    pub version: Version,
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}@{}", self.toolkit, self.tool, self.version)
    }
}

/// A tool as a caller names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRef {
    /// Given in an id such as `Calculator.Add`; absent in a flat name such as `Calculator_Add`.
    pub toolkit: Option<Box<str>>,
    /// The tool within its toolkit, or the flat name.
    pub tool: Box<str>,
    /// Absent means the newest.
    pub version: Option<Version>,
}

/// Why a text is not a tool id.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not a tool id of the form Toolkit.Tool, Toolkit.Tool@1 or Toolkit.Tool@1.0.0")]
pub struct ToolIdError(String);

impl ToolRef {
    /// Reads an OXP tool id: `Toolkit.Tool[@version]`. The tool may be named as its source does where that name has
    /// hyphens.
    pub fn id(text: &str) -> Result<Self, ToolIdError> {
        let error = || ToolIdError(text.to_owned());
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(version.parse().map_err(|_| error())?)),
            None => (text, None),
        };
        let (toolkit, tool) = name.split_once('.').ok_or_else(error)?;
        let is_tool = tool.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if !is_plain(toolkit) || !is_tool || tool.is_empty() {
            return Err(error());
        }
        Ok(ToolRef { toolkit: Some(toolkit.into()), tool: tool.into(), version })
    }

    /// Reads a flat name, `Toolkit_Tool[@version]`. Any text is one; it may just not exist.
    pub fn flat(text: &str) -> Self {
        let versioned =
            text.rsplit_once('@').and_then(|(name, version)| Some((name, version.parse::<Version>().ok()?)));
        match versioned {
            Some((name, version)) => ToolRef { toolkit: None, tool: name.into(), version: Some(version) },
            None => ToolRef { toolkit: None, tool: text.into(), version: None },
        }
    }

    /// Reads either form, as people type them.
    pub fn either(text: &str) -> Self {
        ToolRef::id(text).unwrap_or_else(|_| ToolRef::flat(text))
    }
}

impl fmt::Display for ToolRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(toolkit) = &self.toolkit {
            write!(f, "{toolkit}.")?;
        }
        f.write_str(&self.tool)?;
        self.version.map_or(Ok(()), |version| write!(f, "@{version}"))
    }
}

/// True for `[A-Za-z0-9_]+`, the letters of toolkits and of tools in ids.
pub fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The tool part of an id: characters outside `[A-Za-z0-9_]` become `_`.
pub fn plain_name(own: &str) -> String {
    let plain: String =
        own.chars().map(|c| if is_plain(c.encode_utf8(&mut [0; 4])) { c } else { '_' }).collect();
    if plain.is_empty() { "_".to_owned() } else { plain }
}

/// The flat name of a tool: `toolkit_own`, or `own` alone; forbidden characters become `_`, and a name
/// that is too long is cut with a hash of the whole, so that it is stable and stays distinct.
pub fn flat_name(toolkit: Option<&str>, own: &str) -> String {
    let whole = toolkit.map_or_else(|| own.to_owned(), |toolkit| format!("{toolkit}_{own}"));
    let flat: String = whole
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .collect();
    if flat.len() <= FLAT_LENGTH {
        return if flat.is_empty() { "_".to_owned() } else { flat };
    }
    let digest = Sha256::digest(whole.as_bytes());
    let tag = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    format!("{}_{tag:08x}", &flat[..FLAT_LENGTH - 9])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_id(text: &str, expect: Option<&str>) {
        assert_eq!(ToolRef::id(text).ok().map(|r| r.to_string()).as_deref(), expect, "{text}");
    }

    #[test]
    fn ids_have_a_toolkit_a_tool_and_maybe_a_version() {
        check_id("Calculator.Add", Some("Calculator.Add"));
        check_id("Calculator.Add@1", Some("Calculator.Add@1.0.0"));
        check_id("Calculator.Add@1.2.3", Some("Calculator.Add@1.2.3"));
        check_id("Every.get-sum@1", Some("Every.get-sum@1.0.0"));
        for bad in ["Add", "A.B.C", ".B", "A.", "A.B@", "A.B@1.2", "A.B@x", "A B.C", "A.B@1@2", ""] {
            check_id(bad, None);
        }
    }

    #[test]
    fn flat_names_take_a_version_behind_an_at() {
        assert_eq!(ToolRef::flat("Calc_Add@2").version.map(|v| v.to_string()).as_deref(), Some("2.0.0"));
        assert_eq!(ToolRef::flat("user@host").tool.as_ref(), "user@host");
    }

    #[test]
    fn long_names_are_cut_with_a_stable_hash() {
        let long = "x".repeat(80);
        let flat = flat_name(Some("Kit"), &long);
        assert_eq!(flat.len(), FLAT_LENGTH);
        assert_eq!(flat, flat_name(Some("Kit"), &long));
        assert_ne!(flat, flat_name(Some("Kit"), &"x".repeat(81)));
    }

    proptest! {
        #[test]
        fn every_own_name_gets_servable_names(own in "\\PC{0,90}", kit in "[A-Za-z0-9_]{1,20}") {
            let flat = flat_name(Some(&kit), &own);
            prop_assert!((1..=FLAT_LENGTH).contains(&flat.len()));
            prop_assert!(flat.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
            prop_assert!(is_plain(&plain_name(&own)));
        }

        #[test]
        fn an_id_that_reads_writes_the_same(kit in "[A-Za-z0-9_]{1,8}", tool in "[A-Za-z0-9_]{1,8}", v in (0u64..99, 0u64..99, 0u64..99)) {
            let text = format!("{kit}.{tool}@{}.{}.{}", v.0, v.1, v.2);
            prop_assert_eq!(ToolRef::id(&text).map(|r| r.to_string()), Ok(text));
        }
    }
}
