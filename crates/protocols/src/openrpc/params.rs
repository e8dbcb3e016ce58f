//! Arguments as the parameters of a method: by name as they came, or by position.

use serde_json::value::RawValue;

use crate::http_request::ObjectMembers;

/// How a method takes its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParamStructure {
    ByName,
    ByPosition,
    Either,
}

/// The text of the parameters. `names` are those of the method in the order of their positions.
pub(super) fn params_text(structure: ParamStructure, names: &[String], arguments: &RawValue) -> String {
    let by_name = || arguments.get().to_owned();
    if structure == ParamStructure::ByName {
        return by_name();
    }
    let members = ObjectMembers::of(arguments);
    let values: Vec<Option<&RawValue>> = names.iter().map(|name| members.get(name)).collect();
    let given = values.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    let values = &values[..given];
    if structure == ParamStructure::Either && values.iter().any(Option::is_none) {
        return by_name();
    }
    let mut text = String::with_capacity(arguments.get().len());
    for value in values {
        text.push(if text.is_empty() { '[' } else { ',' });
        text.push_str(value.map_or("null", RawValue::get));
    }
    if text.is_empty() {
        text.push('[');
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(structure: ParamStructure, arguments: &str, expect: &str) {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(
            params_text(structure, &names, serde_json::from_str(arguments).unwrap()),
            expect,
            "{structure:?}"
        );
    }

    #[test]
    fn parameters_go_by_name_or_by_position() {
        use ParamStructure::{ByName, ByPosition, Either};
        check(ByName, r#"{"b":1e400000000000}"#, r#"{"b":1e400000000000}"#);
        check(ByPosition, r#"{"b": [1, 2] ,"a":"x"}"#, r#"["x",[1, 2]]"#);
        check(ByPosition, r#"{"c":3}"#, "[null,null,3]");
        check(ByPosition, "{}", "[]");
        check(Either, r#"{"b":2,"a":1}"#, "[1,2]");
        check(Either, r#"{"c":3}"#, r#"{"c":3}"#);
        check(Either, "{}", "[]");
    }
}
