//! What the outputs of a failed function say, in the sentence about its failure.

use serde_json::Value;

use super::carrier::Carrier;
use super::plan::{ERROR_MESSAGE, Planned, Role};

/// How much of one output is quoted.
const MOST_DETAIL: usize = 500;

/// What the outputs and `errno` say about a failure: not every protocol passes the result object on.
pub(super) fn details(planned: &Planned, result: &str) -> String {
    let Ok(Value::Object(members)) = serde_json::from_str::<Value>(result) else { return String::new() };
    let outputs = planned.outputs.iter().filter(|output| output.role == Role::Parameter);
    let texts = outputs.filter_map(|output| {
        let name = output.name.as_deref()?;
        let shown: String = match members.get(name)? {
            Value::String(text) if !text.is_empty() => text.chars().take(MOST_DETAIL).collect(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        let is_handle = matches!(output.carrier, Carrier::Handle(_));
        (!is_handle).then(|| format!("; {name}: {shown}"))
    });
    let errno = members.get("errno").and_then(|errno| errno["text"].as_str());
    let reason = members.get(ERROR_MESSAGE).and_then(Value::as_str).map(|text| format!("; {text}"));
    reason.into_iter().chain(texts).chain(errno.map(|text| format!("; errno: {text}"))).collect()
}
