//! One walk over every schema inside a schema.

use serde_json::{Map, Value, json};

use super::keywords::{Kind, is_schema, kind, modernize, type_named};
use super::patterns::translated;
use super::references::Dangling;
use crate::schema::{MOST_DEPTH, depth};

/// How many repairs of one schema are told one by one.
const MOST_TOLD: usize = 8;
/// How many characters of what an author wrote are shown: the last.
const MOST_SHOWN: usize = 80;
/// From this depth on it is looked at whether what is below fits.
const DEEP: usize = MOST_DEPTH - 8;
const NEWEST: &str = "https://json-schema.org/draft/2020-12/schema";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Leaves out what cannot be read.
    Repair,
    /// Leaves out every reference and pattern too.
    Strip,
}

type Members = Map<String, Value>;

pub(super) struct Walk {
    mode: Mode,
    dangling: Dangling,
    /// Where the walk is: `properties.a.`.
    path: String,
    told: Vec<String>,
    repairs: usize,
}

impl Walk {
    /// Repairs an input schema; gives what was changed.
    pub(super) fn over(root: &mut Value, mode: Mode) -> Vec<String> {
        let mut walk = Walk::new(root, mode);
        if let Value::Object(members) = root {
            walk.root_type(members);
        }
        walk.run(root)
    }

    /// Repairs a schema of any value.
    pub(super) fn over_any(root: &mut Value) {
        Walk::new(root, Mode::Repair).run(root);
    }

    fn new(root: &Value, mode: Mode) -> Self {
        Walk { mode, dangling: Dangling::of(root), path: String::new(), told: Vec::new(), repairs: 0 }
    }

    fn run(mut self, root: &mut Value) -> Vec<String> {
        if is_schema(root) {
            self.schema(root, 0);
        }
        if let Some(more) = self.repairs.checked_sub(MOST_TOLD).filter(|more| *more > 0) {
            self.told.push(format!("and {more} more"));
        }
        self.told
    }

    fn note(&mut self, keyword: &str, what: &str) {
        self.repairs += 1;
        if self.repairs <= MOST_TOLD {
            let place = format!("{}{keyword}", self.path);
            self.told.push(format!("`{}` {what}", short(place.trim_end_matches('.'))));
        }
    }

    fn drop_keyword(&mut self, members: &mut Members, keyword: &str) {
        if members.shift_remove(keyword).is_some() {
            self.note(keyword, "is left out");
        }
    }

    /// Arguments are always an object: of several types at the root only that one matters.
    fn root_type(&mut self, members: &mut Members) {
        let names =
            |value: &Value| value.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "object"));
        if members.get("type").is_some_and(names) {
            members.insert("type".to_owned(), "object".into());
            self.note("type", "is read as \"object\"");
        }
    }

    fn schema(&mut self, value: &mut Value, at: usize) {
        if at >= DEEP && at + depth(value) > MOST_DEPTH {
            *value = json!({});
            return self.note("", "is nested too deeply and accepts anything");
        }
        let Value::Object(members) = value else { return };
        for keyword in modernize(members) {
            self.note(keyword, "of an older draft is written as today");
        }
        if at > 0 {
            self.nullable(members);
        }
        self.lift_required(members);
        for keyword in members.keys().cloned().collect::<Vec<String>>() {
            self.keyword(members, &keyword, at);
        }
    }

    fn keyword(&mut self, members: &mut Members, keyword: &str, at: usize) {
        let kind = kind(keyword);
        match kind {
            Kind::Type => return self.types(members),
            Kind::Required => return self.required(members),
            Kind::Pattern => return self.pattern(members),
            _ => {}
        }
        let Some(value) = members.get_mut(keyword) else { return };
        if !self.is_good(kind, keyword, value, at) {
            return self.drop_keyword(members, keyword);
        }
        let (before, length) = (self.repairs, self.path.len());
        self.path.extend([keyword, "."]);
        match (kind, value) {
            (Kind::Schema, schema) => self.schema(schema, at + 1),
            (Kind::SchemaMap, Value::Object(map)) => self.map(map, at + 2),
            (Kind::PatternMap, Value::Object(map)) => self.pattern_map(map, at + 2),
            (Kind::SchemaList, Value::Array(list)) => {
                for schema in list {
                    self.schema(schema, at + 2);
                }
            }
            _ => {}
        }
        self.path.truncate(length);
        if self.repairs > before {
            self.loosen(members, keyword);
        }
    }

    /// Whether a keyword can have this value; what is inside a schema is looked at later.
    fn is_good(&self, kind: Kind, keyword: &str, value: &Value, at: usize) -> bool {
        let fits = || at + 1 + depth(value) <= MOST_DEPTH;
        match kind {
            Kind::Schema => is_schema(value),
            Kind::SchemaMap => value.is_object(),
            Kind::PatternMap => value.is_object() && self.mode == Mode::Repair,
            Kind::SchemaList => {
                value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_schema))
            }
            Kind::Reference => self.leads_somewhere(value),
            Kind::Anchor => self.mode == Mode::Repair && is_anchor(keyword, value),
            Kind::Dialect => value == NEWEST,
            Kind::Checked(_) if keyword == "dependencies" && self.mode == Mode::Strip => false,
            Kind::Checked(check) => check(value) && fits(),
            Kind::Type | Kind::Required | Kind::Pattern | Kind::Unknown => fits(),
        }
    }

    fn map(&mut self, map: &mut Members, at: usize) {
        for (name, schema) in map.iter_mut() {
            let length = self.path.len();
            self.path.extend([name, "."]);
            if is_schema(schema) {
                self.schema(schema, at);
            } else {
                *schema = json!({});
                self.note("", "is not a schema and accepts anything");
            }
            self.path.truncate(length);
        }
    }

    fn pattern_map(&mut self, map: &mut Members, at: usize) {
        for pattern in map.keys().cloned().collect::<Vec<String>>() {
            if translated(&pattern).as_ref() != Some(&pattern) {
                self.drop_keyword(map, &pattern);
            }
        }
        self.map(map, at);
    }

    /// What was repaired accepts more. Where that would make the whole accept less, the keyword is loosened too.
    fn loosen(&mut self, members: &mut Members, keyword: &str) {
        match keyword {
            "oneOf" if !members.contains_key("anyOf") => {
                let alternatives = members.shift_remove("oneOf").unwrap_or_default();
                members.insert("anyOf".to_owned(), alternatives);
            }
            "oneOf" | "not" => self.drop_keyword(members, keyword),
            "if" => {
                for part in ["if", "then", "else"] {
                    self.drop_keyword(members, part);
                }
            }
            _ => {}
        }
    }

    fn types(&mut self, members: &mut Members) {
        let read = |word: &Value| word.as_str().and_then(type_named);
        let given = members.get("type").cloned().unwrap_or_default();
        let meant = match &given {
            Value::Array(words) => words.iter().map(read).collect::<Option<Vec<_>>>().map(|mut kinds| {
                let mut seen = Vec::new();
                kinds.retain(|kind| {
                    !seen.contains(kind) && {
                        seen.push(*kind);
                        true
                    }
                });
                Value::from(kinds)
            }),
            word => read(word).map(Value::from),
        };
        match meant.filter(|meant| *meant != json!([])) {
            Some(meant) if meant == given => {}
            Some(meant) => {
                self.note("type", &format!("{} is read as {meant}", short(&given.to_string())));
                members.insert("type".to_owned(), meant);
            }
            None => self.drop_keyword(members, "type"),
        }
    }

    fn required(&mut self, members: &mut Members) {
        let Some(Value::Array(names)) = members.get_mut("required") else {
            return self.drop_keyword(members, "required");
        };
        let before = names.len();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| name.as_str().is_some_and(|name| seen.insert(name.to_owned())));
        if names.len() < before {
            self.note("required", "has entries that are repeated or not names; they are left out");
        }
    }

    /// `required: true` of a property belongs into the list of the object that has it.
    fn lift_required(&mut self, members: &mut Members) {
        let Some(Value::Object(properties)) = members.get_mut("properties") else { return };
        let mut lifted = Vec::new();
        for (name, property) in properties.iter_mut() {
            let Value::Object(property) = property else { continue };
            let Some(&Value::Bool(required)) = property.get("required") else { continue };
            property.shift_remove("required");
            lifted.push((name.clone(), required));
        }
        for (name, required) in lifted {
            self.note(
                &format!("properties.{name}.required"),
                "is read as an entry of the object's `required`",
            );
            if !required {
                continue;
            }
            match members.entry("required").or_insert_with(|| json!([])) {
                Value::Array(names) => names.push(name.into()),
                other => *other = json!([name]),
            }
        }
    }

    fn pattern(&mut self, members: &mut Members) {
        let given = members.get("pattern").and_then(Value::as_str).filter(|_| self.mode == Mode::Repair);
        match given.and_then(translated) {
            Some(pattern) if given == Some(pattern.as_str()) => {}
            Some(pattern) => {
                self.note("pattern", &format!("is read as `{}`", short(&pattern)));
                members.insert("pattern".to_owned(), pattern.into());
            }
            None => self.drop_keyword(members, "pattern"),
        }
    }

    fn leads_somewhere(&self, reference: &Value) -> bool {
        self.mode == Mode::Repair && reference.as_str().is_some_and(|reference| !self.dangling.has(reference))
    }

    fn nullable(&mut self, members: &mut Members) {
        // Beside a reference alone it says nothing, in OpenAPI too.
        let means_something = ["type", "enum", "anyOf"].iter().any(|keyword| members.contains_key(*keyword));
        if members.get("nullable") != Some(&Value::Bool(true)) || !means_something {
            return;
        }
        members.shift_remove("nullable");
        self.note("nullable", "is read as: null is accepted");
        let null = Value::from("null");
        match members.get_mut("type") {
            Some(Value::Array(kinds)) if !kinds.contains(&null) => kinds.push(null),
            Some(Value::String(kind)) if kind != "null" => {
                let kind = std::mem::take(kind);
                members.insert("type".to_owned(), json!([kind, "null"]));
            }
            _ => {}
        }
        match members.get_mut("enum") {
            Some(Value::Array(values)) if !values.contains(&Value::Null) => values.push(Value::Null),
            _ => {}
        }
        if let Some(Value::Array(alternatives)) = members.get_mut("anyOf") {
            alternatives.push(json!({ "type": "null" }));
        }
    }
}

/// What an author wrote, short enough for a log and without characters that would change how it is shown.
fn short(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(MOST_SHOWN);
    let tail: String = text.chars().skip(skipped).filter(|each| !each.is_control()).collect();
    if skipped > 0 { format!("…{tail}") } else { tail }
}

fn is_anchor(keyword: &str, value: &Value) -> bool {
    let name = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && text.chars().all(|each| each.is_ascii_alphanumeric() || "-._".contains(each))
    };
    match (keyword, value) {
        ("$id", Value::String(id)) => !id.trim_end_matches('#').contains('#'),
        ("$anchor" | "$dynamicAnchor", Value::String(text)) => name(text),
        ("$vocabulary", Value::Object(_)) => true,
        _ => false,
    }
}
