//! Which of the numbers that a function returns mean success, by the names that the library has for them.

use serde_json::{Map, Value};

use super::c_type::CType;
use super::classify::Function;
use super::forms::add_names;
use super::guess::{Confidence, guess};
use super::words::words;

/// Last words of codes above 0 that are not failures.
const GOOD_ENDS: [&str; 10] =
    ["ROW", "DONE", "NOTICE", "WARNING", "WARN", "END", "EOF", "MORE", "CONTINUE", "PARTIAL"];
/// Last words of codes below 0 that are not failures.
const MILD_ENDS: [&str; 3] = ["WARN", "WARNING", "RETRY"];
/// Fewer codes are no set of them.
const LEAST_CODES: usize = 4;

impl Function<'_> {
    /// Says which values mean success where they have names, and names them where the library has one set of codes.
    pub(super) fn add_named_success(&self, returned: &mut Value) {
        if self.returns_amount() {
            return;
        }
        let is_named = returned["schema"].get("names").is_some();
        if !is_named && (self.gives_error_text() || self.declaration.documentation.whole.is_empty()) {
            let codes = self.library_codes();
            let has_negative = codes.iter().any(|(name, value)| *value < 0 && name.contains("ERR"));
            if self.gives_error_text() || has_negative {
                add_names(&mut returned["schema"], &codes);
            }
        }
        if returned.get("success").is_some() {
            return;
        }
        let success = returned["schema"]["names"].as_object().and_then(success_of);
        if let Some(success) = success {
            let confidence = if is_named { Confidence::High } else { Confidence::Medium };
            guess(returned, confidence, format!("the names of what it returns: success is `{success}`"));
            returned["success"] = success.into();
        }
    }

    /// Whether what is returned is named as an amount or a property, and not as whether something worked.
    pub(super) fn returns_amount(&self) -> bool {
        const AMOUNTS: [&str; 26] = [
            "count",
            "length",
            "len",
            "size",
            "remaining",
            "pagecount",
            "get",
            "is",
            "has",
            "check",
            "num",
            "number",
            "errcode",
            "errno",
            "version",
            "id",
            "level",
            "index",
            "type",
            "compare",
            "cmp",
            "changes",
            "avail",
            "total",
            "format",
            "filter",
        ];
        let is_named = words(&self.declaration.name).iter().any(|word| AMOUNTS.contains(&word.as_str()));
        // Like `snprintf`; a comment about codes may belong to the function declared before it.
        is_named || self.writes_sized_text()
    }

    /// Whether it writes a text such as `char **errmsg`.
    fn gives_error_text(&self) -> bool {
        self.declaration.parameters.iter().any(|one| {
            let is_text = matches!(&one.c, CType::Pointer { to, .. }
                if matches!(&**to, CType::Pointer { to, .. } if **to == CType::Scalar("char")));
            is_text && one.name.as_deref().is_some_and(|name| name.to_lowercase().contains("err"))
        })
    }

    /// The codes of a library, from the one for success on: `BZ_OK` of functions that begin with `BZ2_`.
    fn library_codes(&self) -> Vec<(String, i128)> {
        let Some(first) = words(&self.declaration.name).into_iter().next() else { return Vec::new() };
        let prefix = first.trim_end_matches(|c: char| c.is_ascii_digit()).to_uppercase();
        let constants = &self.facts.header.constants;
        let codes = constants.run_from(&format!("{prefix}_OK"));
        if codes.len() < LEAST_CODES || codes.first().is_none_or(|(_, value)| *value != 0) {
            return Vec::new();
        }
        codes
    }
}

/// `==0|100|101` of codes that are failures above 0, `>=0` of codes that are failures below.
fn success_of(names: &Map<String, Value>) -> Option<String> {
    let codes: Vec<(&str, i64)> =
        names.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_i64()?))).collect();
    let is_good =
        |(name, value): &&(&str, i64)| *value == 0 && (name.ends_with("OK") || name.ends_with("SUCCESS"));
    codes.iter().find(is_good)?;
    let ends_with =
        |name: &str, ends: &[&str]| name.rsplit('_').next().is_some_and(|last| ends.contains(&last));
    let negative: Vec<&(&str, i64)> = codes.iter().filter(|(_, value)| *value < 0).collect();
    if negative.is_empty() {
        let good = codes.iter().filter(|(name, value)| *value > 0 && ends_with(name, &GOOD_ENDS));
        let numbers: Vec<String> =
            std::iter::once(0).chain(good.map(|(_, value)| *value)).map(|value| value.to_string()).collect();
        return Some(format!("=={}", numbers.join("|")));
    }
    let worst = negative.iter().filter(|(name, _)| !ends_with(name, &MILD_ENDS)).map(|(_, value)| *value);
    let bound = worst.max();
    let mild = negative.iter().filter(|(name, _)| ends_with(name, &MILD_ENDS)).map(|(_, value)| *value);
    let least = mild.filter(|value| bound.is_none_or(|bound| *value > bound)).min();
    Some(format!(">={}", least.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_codes_tell_success() {
        for (names, expect) in [
            (
                json!({ "SQLITE_OK": 0, "SQLITE_ERROR": 1, "SQLITE_ROW": 100, "SQLITE_DONE": 101 }),
                Some("==0|100|101"),
            ),
            (json!({ "Z_OK": 0, "Z_STREAM_END": 1, "Z_ERRNO": -1, "Z_DATA_ERROR": -3 }), Some(">=0")),
            (json!({ "A_OK": 0, "A_RETRY": -10, "A_WARN": -20, "A_FAILED": -25 }), Some(">=-20")),
            (json!({ "E_OK": 0, "E_BAD": 1 }), Some("==0")),
            (json!({ "RED": 0, "GREEN": 1 }), None),
        ] {
            assert_eq!(success_of(names.as_object().expect("names")).as_deref(), expect, "{names}");
        }
    }
}
