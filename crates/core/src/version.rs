//! Versions of tools, as OXP reads them: `x.y.z` exactly, or `x` for `x.0.0`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The version of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    /// The first number: incompatible changes.
    pub major: u64,
    /// The second number: additions.
    pub minor: u64,
    /// The third number: corrections.
    pub patch: u64,
}

/// Why a text is not a version.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not a version of the form x.y.z or x")]
pub struct VersionError(String);

impl Version {
    /// The version of a tool whose source names none.
    pub const FIRST: Version = Version::new(1, 0, 0);

    /// The version `major.minor.patch`.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Version {
        Version { major, minor, patch }
    }

    /// The nearest version to the free text that servers put in their version fields.
    pub fn nearest(text: &str) -> Version {
        let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
        let mut numbers = digits
            .split('.')
            .map_while(|part| part.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok());
        match numbers.next() {
            None => Version::FIRST,
            Some(major) => {
                Version { major, minor: numbers.next().unwrap_or(0), patch: numbers.next().unwrap_or(0) }
            }
        }
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let number = |part: &str| {
            let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| part.parse().ok()).flatten().ok_or_else(|| VersionError(text.to_owned()))
        };
        let parts: Vec<&str> = text.split('.').collect();
        match parts[..] {
            // OXP 1.0: a bare major resolves to x.0.0, not to the newest x.
            [major] => Ok(Version { major: number(major)?, minor: 0, patch: 0 }),
            [major, minor, patch] => {
                Ok(Version { major: number(major)?, minor: number(minor)?, patch: number(patch)? })
            }
            _ => Err(VersionError(text.to_owned())),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl TryFrom<String> for Version {
    type Error = VersionError;

    fn try_from(text: String) -> Result<Self, VersionError> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> String {
        version.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(text.parse::<Version>().ok().map(|v| v.to_string()).as_deref(), expect, "{text}");
    }

    #[test]
    fn bare_major_resolves_to_x_0_0() {
        check("1", Some("1.0.0"));
        check("12", Some("12.0.0"));
    }

    #[test]
    fn three_numbers_are_taken_exactly() {
        check("1.20.3", Some("1.20.3"));
        check("1.2", None);
        check("1.2.3.4", None);
        check("", None);
        check("+1", None);
        check("1.-2.3", None);
        check("99999999999999999999", None);
    }

    #[test]
    fn free_text_gives_the_nearest_version() {
        for (text, expect) in
            [("v2.3.1-beta", "2.3.1"), ("N/A", "1.0.0"), ("2026.8.31", "2026.8.31"), ("1.4", "1.4.0")]
        {
            assert_eq!(Version::nearest(text).to_string(), expect);
        }
    }
}
