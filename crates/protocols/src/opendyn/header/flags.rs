//! Constants of a header that a parameter or a return takes, by name.

use serde_json::Value;

use super::classify::Function;
use super::forms::add_names;
use super::words::words;

/// Fewer constants than this are no set to choose from.
const LEAST: usize = 2;
/// The most constants of a whole library that one parameter may take.
const MOST_PREFIXED: usize = 40;
/// How many of the constants for failures a comment must mention to be about what is returned.
const LEAST_STATUS: usize = 4;

impl Function<'_> {
    /// Offers the constants that belong to a number: those that its comment mentions, and for flags those that carry
    /// the library's prefix.
    pub(super) fn add_flag_names(&self, index: usize, parameter: &mut Value) {
        let is_integer = parameter["schema"]["type"] == "integer" && parameter["isIn"] == true;
        let c = &parameter["schema"]["cType"];
        let is_hidden =
            c["isPointer"] == true || c.get("lengthOf").is_some() || self.measured_by(index).is_some();
        if !is_integer || is_hidden || parameter["schema"].get("names").is_some() {
            return;
        }
        let name = &self.names[index];
        let comment = self.declaration.documentation.parameter(name).map(|one| one.text.as_str());
        let mut values = comment.map(|text| self.mentioned(text)).unwrap_or_default();
        let is_flags = is_flags(name) || self.has_unnamed_flags(index);
        if values.len() < LEAST && is_flags {
            values = self.mentioned(&self.declaration.documentation.whole);
        }
        if values.len() < LEAST && is_flags {
            values = self.prefixed();
        }
        if values.len() < LEAST {
            return;
        }
        add_names(&mut parameter["schema"], &values);
        let single_bits = values.iter().filter(|(_, value)| *value > 0 && value.count_ones() == 1).count();
        if is_flags && single_bits * 2 >= values.len() {
            parameter["schema"]["flags"] = true.into();
        }
    }

    /// `magic_open(int)`, `magic_setflags(magic_t, int)`
    fn has_unnamed_flags(&self, index: usize) -> bool {
        let function = words(&self.declaration.name);
        let takes = |word: &str| function.iter().any(|own| own.ends_with(word));
        self.declaration.parameters[index].name.is_none()
            && (takes("flags") || takes("open") || takes("options"))
    }

    /// The names of what a function returns, where its comment mentions them.
    pub(super) fn add_status_names(&self, returned: &mut Value) {
        if self.returns_amount() {
            return;
        }
        let comment = &self.declaration.documentation;
        let text = comment.returns.as_deref().unwrap_or(&comment.whole);
        let constants = &self.facts.header.constants;
        let mentioned: Vec<&str> = names_in(text).filter(|name| constants.value(name).is_some()).collect();
        let good = |name: &&str| {
            constants.value(name) == Some(0) && (name.ends_with("OK") || name.ends_with("SUCCESS"))
        };
        let prefix = |name: &str| name.split('_').next().unwrap_or_default().to_owned();
        let first = mentioned.iter().copied().find(good).map(str::to_owned);
        let first = first.or_else(|| Some(format!("{}_OK", prefix(mentioned.first()?))));
        let run = first.map(|first| constants.run_from(&first)).unwrap_or_default();
        let known = mentioned.iter().filter(|name| run.iter().any(|(own, _)| own == *name)).count();
        if mentioned.iter().any(good) || known >= LEAST_STATUS {
            add_names(&mut returned["schema"], &run);
        }
    }

    /// The constants that a text mentions, with all others of the prefix that they share.
    fn mentioned(&self, text: &str) -> Vec<(String, i128)> {
        let constants = &self.facts.header.constants;
        let mut found: Vec<(String, i128)> = Vec::new();
        for word in names_in(text) {
            if let Some(value) =
                constants.value(word).filter(|_| !found.iter().any(|(known, _)| known == word))
            {
                found.push((word.to_owned(), value));
            }
        }
        let Some(prefix) = shared_prefix(&found) else { return found };
        for (name, value) in constants.with_prefix(&prefix) {
            if !found.iter().any(|(known, _)| known == name) {
                found.push((name.to_owned(), value));
            }
        }
        found
    }

    /// Flags whose names begin with that of the library: `MAGIC_…` of `magic_open`.
    fn prefixed(&self) -> Vec<(String, i128)> {
        let Some(first) = words(&self.declaration.name).into_iter().next() else { return Vec::new() };
        let prefix = format!("{}_", first.to_uppercase());
        let all = self.facts.header.constants.with_prefix(&prefix);
        let found: Vec<(String, i128)> = all
            .filter(|(name, value)| *value >= 0 && value.count_ones() <= 1 && !name.contains("VERSION"))
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        // More are not all for one parameter.
        if found.len() > MOST_PREFIXED { Vec::new() } else { found }
    }
}

/// Words that are written as constants are.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |word: &&str| {
        word.len() > 3 && word.contains('_') && !word.contains(|c: char| c.is_ascii_lowercase())
    };
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(is_name)
}

/// `SQLITE_OPEN_` of `SQLITE_OPEN_READONLY` and `SQLITE_OPEN_CREATE`; not the prefix of a whole library.
fn shared_prefix(found: &[(String, i128)]) -> Option<String> {
    let (first, rest) = found.split_first()?;
    let mut prefix = first.0.as_str();
    for (name, _) in rest {
        let length = prefix.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
        prefix = &prefix[..length];
    }
    let prefix = &prefix[..=prefix.rfind('_')?];
    (!rest.is_empty() && prefix.matches('_').count() > 1).then(|| prefix.to_owned())
}

fn is_flags(name: &str) -> bool {
    words(name)
        .iter()
        .any(|word| matches!(word.as_str(), "flags" | "flag" | "options" | "option" | "opts" | "mode"))
}
