//! Texts that stand for something else: models that write `"5"` where a schema wants a number. Done for sources
//! whose configuration says `coerce = true`, before arguments are validated.
//!
//! A text is converted where its schema takes no text, and only when it is exactly the JSON of what is wanted: an
//! integer, a number, a boolean, or an array or object written as JSON. Everything else stays, digit for digit.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::arguments::Arguments;
use crate::json_text::read_strict;

/// How many references in a row are followed.
const MOST_STEPS: usize = 8;
/// How many schemas are asked for the types they take: alternatives within alternatives multiply.
const MOST_ALTERNATIVES: usize = 64;

/// The arguments with such texts converted; none when there are none.
pub(crate) fn coerced(arguments: &Arguments, schema: &Value) -> Option<Arguments> {
    let text = Coercion { root: schema }.rewritten(arguments.value(), arguments.text(), schema)?;
    let text = RawValue::from_string(text).ok()?;
    Arguments::read(Some(&text)).ok()
}

struct Coercion<'a> {
    root: &'a Value,
}

impl Coercion<'_> {
    /// The new text of a value, whose text so far is given with it; none when it stays as it is.
    fn rewritten(&self, value: &Value, text: &RawValue, schema: &Value) -> Option<String> {
        let schema = self.resolved(schema);
        match value {
            Value::Object(members) => {
                let properties = schema.get("properties")?.as_object()?;
                let texts: HashMap<String, &RawValue> = serde_json::from_str(text.get()).ok()?;
                let parts = members.iter().map(|(name, value)| (Some(name), value, texts[name]));
                let written = self.parts(parts, |name| properties.get(name?))?;
                Some(format!("{{{written}}}"))
            }
            Value::Array(items) => {
                let of_items = schema.get("items").filter(|items| items.is_object())?;
                let texts: Vec<&RawValue> = serde_json::from_str(text.get()).ok()?;
                let parts = items.iter().zip(texts).map(|(value, text)| (None, value, text));
                let written = self.parts(parts, |_| Some(of_items))?;
                Some(format!("[{written}]"))
            }
            Value::String(said) => self.converted(said, schema),
            _ => None,
        }
    }

    /// The parts of an array or object, written one after the other; none when each stays as it is.
    fn parts<'v>(
        &self,
        parts: impl Iterator<Item = (Option<&'v String>, &'v Value, &'v RawValue)>,
        schema_of: impl Fn(Option<&String>) -> Option<&'v Value>,
    ) -> Option<String> {
        let (mut written, mut changed) = (Vec::new(), false);
        for (name, value, text) in parts {
            let new = schema_of(name).and_then(|schema| self.rewritten(value, text, schema));
            changed |= new.is_some();
            let key = name.map(|name| format!("{}:", Value::from(name.as_str()))).unwrap_or_default();
            written.push(format!("{key}{}", new.as_deref().unwrap_or(text.get())));
        }
        changed.then(|| written.join(","))
    }

    /// The JSON that a text is, where the schema wants that and takes no text.
    fn converted(&self, said: &str, schema: &Value) -> Option<String> {
        let mut wanted = Vec::new();
        self.kinds(schema, &mut { MOST_ALTERNATIVES }, &mut wanted)?;
        if wanted.contains(&"string") || said.trim() != said {
            return None;
        }
        let kind = match read_strict(said).ok()? {
            Value::Number(_) if said.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => "integer",
            Value::Number(_) => "number",
            Value::Bool(_) => "boolean",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
            Value::Null | Value::String(_) => return None,
        };
        let fits = wanted.contains(&kind) || (kind == "integer" && wanted.contains(&"number"));
        fits.then(|| said.to_owned())
    }

    /// The types that a schema takes; none when it does not say.
    fn kinds<'a>(&'a self, schema: &'a Value, left: &mut usize, kinds: &mut Vec<&'a str>) -> Option<()> {
        let schema = self.resolved(schema);
        *left = left.checked_sub(1)?;
        match schema.get("type") {
            Some(Value::String(kind)) => kinds.push(kind),
            Some(Value::Array(all)) => kinds.extend(all.iter().filter_map(Value::as_str)),
            Some(_) => return None,
            None => {
                let alternatives = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()?;
                for alternative in alternatives {
                    self.kinds(alternative, left, kinds)?;
                }
            }
        }
        Some(())
    }

    /// What a schema refers to, inside the same document.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let mut found = schema;
        for _ in 0..MOST_STEPS {
            let Some(reference) = found.get("$ref").and_then(Value::as_str) else { break };
            let Some(target) = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer))
            else {
                break;
            };
            found = target;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What arguments become; the same when nothing is converted.
    fn check(schema: &Value, given: &str, expect: &str) {
        let given: Box<RawValue> = serde_json::from_str(given).expect("JSON");
        let arguments = Arguments::read(Some(&given)).expect("an object");
        let coerced = coerced(&arguments, schema);
        assert_eq!(coerced.as_ref().unwrap_or(&arguments).text().get(), expect);
        assert_eq!(coerced.is_none(), given.get() == expect);
    }

    fn of(parameter: Value) -> Value {
        json!({ "type": "object", "properties": { "a": parameter }, "$defs": { "n": { "type": "number" } } })
    }

    #[test]
    fn texts_become_what_the_schema_wants() {
        let check = |kind: &str, given: &str, expect: &str| {
            check(
                &of(json!({ "type": kind })),
                &format!(r#"{{"a":{given}}}"#),
                &format!(r#"{{"a":{expect}}}"#),
            );
        };
        check("integer", r#""5""#, "5");
        check("integer", r#""-12345678901234567890123""#, "-12345678901234567890123");
        check("number", r#""2.50""#, "2.50");
        check("number", r#""1e3""#, "1e3");
        check("boolean", r#""true""#, "true");
        check("array", r#""[1,\"x\"]""#, r#"[1,"x"]"#);
        check("object", r#""{\"b\":1}""#, r#"{"b":1}"#);
    }

    #[test]
    fn texts_that_are_not_exactly_one_stay() {
        let check = |kind: &str, given: &str| {
            let given = format!(r#"{{"a":{given}}}"#);
            check(&of(json!({ "type": kind })), &given, &given);
        };
        for given in
            [r#""""#, r#"" 5""#, r#""5 ""#, r#""+5""#, r#""05""#, r#""5.0""#, r#""five""#, r#""0x5""#, "null"]
        {
            check("integer", given);
        }
        for given in [r#""NaN""#, r#""1,5""#, r#""Infinity""#] {
            check("number", given);
        }
        for given in [r#""True""#, r#""yes""#, r#""1""#] {
            check("boolean", given);
        }
        check("object", r#""[1]""#);
        check("string", r#""5""#);
    }

    #[test]
    fn a_schema_that_takes_texts_or_does_not_say_keeps_them() {
        for schema in [
            json!({}),
            json!({ "type": ["integer", "string"] }),
            json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
            json!({ "anyOf": [{ "type": "integer" }, {}] }),
            json!({ "enum": [5, "5"] }),
        ] {
            check(&of(schema), r#"{"a":"5"}"#, r#"{"a":"5"}"#);
        }
    }

    #[test]
    fn alternatives_references_and_inner_values_are_followed() {
        let optional = of(json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }));
        check(&optional, r#"{"a":"5"}"#, r#"{"a":5}"#);
        check(&of(json!({ "$ref": "#/$defs/n" })), r#"{"a":"5.5"}"#, r#"{"a":5.5}"#);
        check(&of(json!({ "$ref": "#/properties/a" })), r#"{"a":"5"}"#, r#"{"a":"5"}"#);
        let list = of(json!({ "type": "array", "items": { "type": "integer" } }));
        check(&list, r#"{"a":[1, "2","x"]}"#, r#"{"a":[1,2,"x"]}"#);
        let inner = of(json!({ "type": "object", "properties": { "b": { "type": "boolean" } } }));
        check(&inner, r#"{"a":{"b":"false","c":"1"}}"#, r#"{"a":{"b":false,"c":"1"}}"#);
    }

    #[test]
    fn the_rest_stays_digit_for_digit() {
        let given = r#"{"x\"":12345678901234567890123,"a":"7","y":1.10}"#;
        check(&of(json!({ "type": "integer" })), given, r#"{"x\"":12345678901234567890123,"a":7,"y":1.10}"#);
    }
}
