//! A JSON Schema as rows of a table: each parameter with its type, whether it is required, what it may be and what it is for.

use serde::Serialize;
use serde_json::Value;

/// How deep parameters of parameters are shown.
const DEEPEST: usize = 6;
/// How many rows one table has at most.
const MOST_ROWS: usize = 400;
/// How many members of an `enum` are shown.
const MOST_VALUES: usize = 12;

/// One parameter as a row of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct SchemaRow {
    /// Its name, with those of what it is in: `items[].price`.
    pub(crate) path: String,
    pub(crate) depth: usize,
    /// Its type in words: `array of integer`.
    pub(crate) kind: String,
    pub(crate) required: bool,
    pub(crate) rules: Vec<String>,
    pub(crate) description: String,
}

/// The rows of a schema, those of a parameter's own parameters behind it.
pub(crate) fn schema_rows(schema: &Value) -> Vec<SchemaRow> {
    let mut rows = Rows { root: schema, found: Vec::new(), within: Vec::new() };
    rows.members(schema, "");
    rows.found
}

struct Rows<'a> {
    root: &'a Value,
    found: Vec<SchemaRow>,
    /// The references that were followed to where we are: one that is followed again has no end.
    within: Vec<&'a str>,
}

impl<'a> Rows<'a> {
    fn members(&mut self, schema: &'a Value, path: &str) {
        let (schema, followed) = self.follow(schema);
        if self.within.len() + path.matches(['.', '[']).count() < DEEPEST {
            self.within.extend(followed);
            self.properties(schema, path);
            for (place, part) in parts(schema).enumerate() {
                match part {
                    (Some(word), alternative) => {
                        let at =
                            format!("{path}{}({word} {})", if path.is_empty() { "" } else { " " }, place + 1);
                        self.row(alternative, &at, false);
                    }
                    (None, part) => self.members(part, path),
                }
            }
            if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
                self.members(items, &format!("{path}[]"));
            }
            for (place, item) in array(schema, "prefixItems").enumerate() {
                self.row(item, &format!("{path}[{place}]"), true);
            }
            if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
                self.row(values, &format!("{}*", dotted(path)), false);
            }
            self.within.truncate(self.within.len() - usize::from(followed.is_some()));
        }
    }

    fn properties(&mut self, schema: &'a Value, path: &str) {
        let required: Vec<&str> = array(schema, "required").filter_map(Value::as_str).collect();
        for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.row(member, &format!("{}{name}", dotted(path)), required.contains(&name.as_str()));
        }
    }

    fn row(&mut self, schema: &'a Value, path: &str, required: bool) {
        if self.found.len() >= MOST_ROWS {
            return;
        }
        let (shown, again) = self.follow(schema);
        let text = |name: &str| schema.get(name).or_else(|| shown.get(name)).and_then(Value::as_str);
        self.found.push(SchemaRow {
            path: path.to_owned(),
            depth: path.matches(['.', '[']).count(),
            kind: self.kind(schema, 0),
            required,
            rules: rules(shown),
            description: text("description").or_else(|| text("title")).unwrap_or_default().to_owned(),
        });
        if again.is_none_or(|name| !self.within.contains(&name)) {
            self.members(schema, path);
        }
    }

    /// What a schema refers to within its document, and by which name.
    fn follow(&self, schema: &'a Value) -> (&'a Value, Option<&'a str>) {
        let Some(name) = schema.get("$ref").and_then(Value::as_str) else { return (schema, None) };
        let target = self.root.pointer(name.trim_start_matches('#'));
        target.map_or((schema, None), |target| (target, Some(name)))
    }

    fn kind(&self, schema: &'a Value, depth: usize) -> String {
        let (shown, name) = self.follow(schema);
        if depth > 3 {
            return "…".to_owned();
        }
        let named = || name.and_then(|name| name.rsplit('/').next()).map(str::to_owned);
        if shown.get("enum").is_some() {
            return "one of".to_owned();
        }
        if shown.get("const").is_some() {
            return "constant".to_owned();
        }
        let many = |word: &str| {
            let kinds: Vec<String> = array(shown, word).map(|part| self.kind(part, depth + 1)).collect();
            (!kinds.is_empty()).then(|| kinds.join(" or "))
        };
        if let Some(kinds) = many("anyOf").or_else(|| many("oneOf")) {
            return kinds;
        }
        let words = match shown.get("type") {
            Some(Value::String(word)) => word.clone(),
            Some(Value::Array(words)) => {
                words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
            }
            _ if shown.get("properties").is_some() => "object".to_owned(),
            _ => named().unwrap_or_else(|| "any value".to_owned()),
        };
        match shown.get("items").filter(|items| items.is_object() && words == "array") {
            Some(items) => format!("array of {}", self.kind(items, depth + 1)),
            None => words,
        }
    }
}

fn dotted(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}.") }
}

fn array<'a>(schema: &'a Value, word: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    schema.get(word).and_then(Value::as_array).into_iter().flatten()
}

/// What a schema is made of besides its own members: alternatives with their word, and parts that all hold.
fn parts(schema: &Value) -> impl Iterator<Item = (Option<&'static str>, &Value)> {
    let is_object = |part: &&Value| part.get("properties").is_some() || part.get("$ref").is_some();
    let alternatives = array(schema, "oneOf").chain(array(schema, "anyOf")).filter(is_object);
    let all = array(schema, "allOf").map(|part| (None, part));
    alternatives.map(|part| (Some("alternative"), part)).chain(all)
}

/// What a value has to fit besides its type.
fn rules(schema: &Value) -> Vec<String> {
    const WORDS: [(&str, &str); 13] = [
        ("minimum", "≥ "),
        ("exclusiveMinimum", "> "),
        ("maximum", "≤ "),
        ("exclusiveMaximum", "< "),
        ("multipleOf", "multiple of "),
        ("minLength", "at least as long as "),
        ("maxLength", "at most as long as "),
        ("pattern", "matches "),
        ("format", "format "),
        ("minItems", "items: at least "),
        ("maxItems", "items: at most "),
        ("contentEncoding", "encoded as "),
        ("default", "default "),
    ];
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut rules: Vec<String> = WORDS
        .iter()
        .filter_map(|(word, text)| Some(format!("{text}{}", plain(schema.get(*word)?))))
        .collect();
    if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
        rules.push("no item twice".to_owned());
    }
    rules.extend(schema.get("const").map(plain));
    let values: Vec<String> = array(schema, "enum").map(plain).collect();
    if !values.is_empty() {
        let more = if values.len() > MOST_VALUES {
            format!(" and {} more", values.len() - MOST_VALUES)
        } else {
            String::new()
        };
        rules.push(values[..values.len().min(MOST_VALUES)].join(" · ") + &more);
    }
    rules
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, expect: &[(&str, &str)]) {
        let rows = schema_rows(&schema);
        let told: Vec<_> = rows.iter().map(|row| (row.path.as_str(), row.kind.as_str())).collect();
        assert_eq!(told, expect, "{schema}");
    }

    #[test]
    fn members_of_members_follow_their_own() {
        check(
            json!({ "properties": { "a": { "type": "object", "properties": { "b": { "type": "string" } } },
                "c": { "type": "array", "items": { "type": "object", "properties": { "d": { "type": "integer" } } } } } }),
            &[("a", "object"), ("a.b", "string"), ("c", "array of object"), ("c[].d", "integer")],
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        check(
            json!({ "$ref": "#/$defs/node", "$defs": { "node": { "type": "object", "properties": {
                "name": { "type": "string" }, "next": { "$ref": "#/$defs/node" } } } } }),
            &[("name", "string"), ("next", "object")],
        );
    }

    #[test]
    fn maps_tuples_and_alternatives_have_rows() {
        check(
            json!({ "properties": {
                "m": { "type": "object", "additionalProperties": { "type": "integer" } },
                "t": { "type": "array", "prefixItems": [{ "type": "string" }, { "type": "number" }] },
                "o": { "oneOf": [{ "type": "string" }, { "type": "object", "properties": { "x": { "enum": [1] } } }] } } }),
            &[
                ("m", "object"),
                ("m.*", "integer"),
                ("t", "array"),
                ("t[0]", "string"),
                ("t[1]", "number"),
                ("o", "string or object"),
                ("o (alternative 1)", "object"),
                ("o (alternative 1).x", "one of"),
            ],
        );
    }

    #[test]
    fn what_a_value_has_to_fit_is_said_in_words() {
        let rows = schema_rows(
            &json!({ "required": ["n"], "properties": { "n": { "type": "integer", "minimum": 1, "default": 3 } } }),
        );
        assert_eq!((rows[0].required, rows[0].rules.join(", ")), (true, "≥ 1, default 3".to_owned()));
    }
}
