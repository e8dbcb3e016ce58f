//! How many schemas one value is checked against at most. Alternatives and references multiply: twenty levels of two
//! references each are a million schemas for one value, and nothing of that shows in the size of the schema.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// How many schemas one value may be checked against.
pub(super) const MOST_EXPANSION: usize = 10_000;
/// How many of them in a row: each takes room on the stack.
pub(super) const MOST_STEPS: usize = 48;
/// How many against which a name of a property may be checked: that work is not metered.
const MOST_OF_NAMES: usize = 100;
/// How many steps counting may take in all.
const MOST_WORK: usize = 1_000_000;
/// How many parts of a schema may have an address of their own.
const MOST_RESOURCES: usize = 64;

const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SINGLE: [&str; 4] = ["not", "if", "then", "else"];
const MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
const UNEVALUATED: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];
/// How often the parts of a schema with such a keyword are walked: to check the value, to see which of them it fits,
/// and to see what those evaluate.
const UNEVALUATED_WALKS: usize = 3;
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The longest row of schemas that one value is checked against, each inside or behind the one before; none for a
/// schema with a part that one value is checked against too often.
pub(super) fn longest_row(root: &Value) -> Option<usize> {
    let mut expansion = Expansion::of(root);
    if expansion.resources.len() > MOST_RESOURCES {
        return None;
    }
    let mut longest = 1;
    for schema in all(root) {
        let of_names = schema.get("propertyNames").map_or(0, |names| expansion.size(names).schemas);
        if expansion.is_costly(schema) || of_names > MOST_OF_NAMES {
            return None;
        }
        longest = longest.max(expansion.size(schema).steps);
    }
    Some(longest)
}

/// The references that lead to such a part.
pub(crate) fn costly_references(root: &Value) -> HashSet<String> {
    let mut expansion = Expansion::of(root);
    let references: HashSet<&str> = all(root).flat_map(references_of).collect();
    let costly = references.into_iter().filter(|reference| {
        expansion.targets(reference).into_iter().any(|target| expansion.is_costly(target))
    });
    costly.map(str::to_owned).collect()
}

/// What one value costs.
#[derive(Clone, Copy)]
struct Size {
    schemas: usize,
    /// The longest row of schemas, each inside or behind the one before.
    steps: usize,
    /// Something refers to itself, where the validator stops: the size depends on where counting began.
    is_cut: bool,
}

struct Expansion<'a> {
    /// The schema and each part with an address of its own.
    resources: Vec<&'a Value>,
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    known: HashMap<*const Value, Size>,
    open: Vec<*const Value>,
    left: usize,
}

impl<'a> Expansion<'a> {
    fn of(root: &'a Value) -> Self {
        let named =
            |schema: &&Value| schema.get("$id").or_else(|| schema.get("id")).is_some_and(Value::is_string);
        let resources =
            [root].into_iter().chain(all(root).skip(1).filter(named)).take(MOST_RESOURCES + 1).collect();
        let mut anchors: HashMap<&str, Vec<&Value>> = HashMap::new();
        for schema in all(root) {
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = schema.get(keyword).and_then(Value::as_str) {
                    anchors.entry(name).or_default().push(schema);
                }
            }
        }
        Expansion { resources, anchors, known: HashMap::new(), open: Vec::new(), left: MOST_WORK }
    }

    fn is_costly(&mut self, schema: &'a Value) -> bool {
        let size = self.size(schema);
        size.schemas > MOST_EXPANSION || size.steps > MOST_STEPS
    }

    fn size(&mut self, schema: &'a Value) -> Size {
        let place = std::ptr::from_ref(schema);
        if let Some(known) = self.known.get(&place) {
            return *known;
        }
        if self.open.contains(&place) {
            return Size { schemas: 1, steps: 1, is_cut: true };
        }
        let Some(left) = self.left.checked_sub(1).filter(|_| self.open.len() <= MOST_STEPS) else {
            return Size { schemas: MOST_EXPANSION + 1, steps: MOST_STEPS + 1, is_cut: true };
        };
        self.left = left;
        self.open.push(place);
        let mut size = Size { schemas: 1, steps: 1, is_cut: false };
        let walks = if UNEVALUATED.iter().any(|keyword| schema.get(keyword).is_some()) {
            UNEVALUATED_WALKS
        } else {
            1
        };
        for part in self.parts(schema) {
            let part = self.size(part);
            let schemas = part.schemas.saturating_mul(walks);
            size.schemas = size.schemas.saturating_add(schemas).min(MOST_EXPANSION + 1);
            size.steps = size.steps.max(part.steps + 1);
            size.is_cut |= part.is_cut;
            if size.schemas > MOST_EXPANSION {
                break;
            }
        }
        self.open.pop();
        // Counted from elsewhere, a part that refers back may be larger; one that is too large stays so.
        if !size.is_cut || size.schemas > MOST_EXPANSION {
            self.known.insert(place, size);
        }
        size
    }

    /// The schemas that check the same value.
    fn parts(&self, schema: &'a Value) -> Vec<&'a Value> {
        let lists = LISTS.iter().filter_map(|keyword| schema.get(keyword)?.as_array()).flatten();
        let single = SINGLE.iter().filter_map(|keyword| schema.get(keyword));
        let maps =
            MAPS.iter().filter_map(|keyword| schema.get(keyword)?.as_object()).flat_map(|map| map.values());
        let references = references_of(schema).flat_map(|reference| self.targets(reference));
        lists.chain(single).chain(maps).chain(references).collect()
    }

    /// What a reference may mean: where parts have addresses of their own, several places are possible, and all count.
    fn targets(&self, reference: &str) -> Vec<&'a Value> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let last = |address: &str| address.rsplit(['/', ':']).next().unwrap_or_default().to_owned();
        let named = |resource: &&&Value| {
            let id = resource.get("$id").or_else(|| resource.get("id")).and_then(Value::as_str);
            address.is_empty() || id.is_some_and(|id| last(id.trim_end_matches('#')) == last(address))
        };
        let resources = self.resources.iter().filter(named);
        match fragment {
            "" => resources.copied().collect(),
            pointer if pointer.starts_with('/') => {
                let decoded = decoded_pointer(pointer);
                resources.filter_map(|resource| resource.pointer(&decoded)).collect()
            }
            anchor => self.anchors.get(anchor).cloned().unwrap_or_default(),
        }
    }
}

fn references_of(schema: &Value) -> impl Iterator<Item = &str> {
    REFERENCES.iter().filter_map(|keyword| schema.get(keyword)?.as_str())
}

/// Every object in a schema, the schema itself first. Some are data and no schemas: they are counted too.
fn all(root: &Value) -> impl Iterator<Item = &Value> {
    let mut waiting = vec![root];
    std::iter::from_fn(move || {
        loop {
            let value = waiting.pop()?;
            match value {
                Value::Array(items) => waiting.extend(items.iter().rev()),
                Value::Object(members) => {
                    waiting.extend(members.values().rev());
                    return Some(value);
                }
                _ => {}
            }
        }
    })
}

/// A pointer in an address is percent-encoded.
pub(crate) fn decoded_pointer(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = (first == b'%').then(|| after.get(..2)).flatten();
        let code = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn is_costly(schema: &Value) -> bool {
        longest_row(schema).is_none()
    }

    /// So many levels of definitions, each made of the next by `level`.
    fn bomb(levels: usize, level: impl Fn(Value) -> Value) -> Value {
        let mut definitions = Map::new();
        for at in 0..levels {
            definitions.insert(format!("l{at}"), level(json!({ "$ref": format!("#/$defs/l{}", at + 1) })));
        }
        definitions.insert(format!("l{levels}"), json!({ "type": "string" }));
        json!({ "properties": { "a": { "$ref": "#/$defs/l0" } }, "$defs": definitions })
    }

    #[test]
    fn references_that_multiply_for_one_value_are_costly() {
        for keyword in LISTS {
            let twice = |next: Value| json!({ (keyword): [next, next] });
            assert!(!is_costly(&bomb(8, twice)), "{keyword}");
            assert!(is_costly(&bomb(40, twice)), "{keyword}");
        }
        let mixed = |next: Value| json!({ "not": next, "if": next, "dependentSchemas": { "x": next } });
        assert!(is_costly(&bomb(20, mixed)));
        assert!(is_costly(&bomb(100, |next| next)), "a long row of references");
        assert!(is_costly(&bomb(20, |next| json!({ "allOf": [next], "unevaluatedProperties": false }))));
        let names = bomb(10, |next| json!({ "allOf": [next, next] }));
        assert!(is_costly(&json!({ "propertyNames": names["properties"]["a"], "$defs": names["$defs"] })));
    }

    #[test]
    fn references_below_another_value_are_not() {
        let below = |next: Value| json!({ "properties": { "x": next, "y": next }, "items": next });
        assert!(!is_costly(&bomb(40, below)));
        assert!(!is_costly(&json!({ "$ref": "#" })));
    }

    #[test]
    fn references_by_name_are_followed() {
        let twice = |name: &str| json!({ "allOf": [{ "$ref": name }, { "$ref": name }] });
        let mut definitions = Map::new();
        for at in 0..30 {
            let mut schema = twice(&format!("#a{}", at + 1));
            schema["$anchor"] = format!("a{at}").into();
            definitions.insert(format!("x{at}"), schema);
        }
        assert!(is_costly(&json!({ "$ref": "#a0", "$defs": definitions })));
        let own = json!({ "$id": "http://a/own", "$defs": bomb(30, |next| json!({ "allOf": [next, next] }))["$defs"],
            "$ref": "#/$defs/l0" });
        assert!(is_costly(&json!({ "properties": { "a": own } })));
    }

    #[test]
    fn schemas_that_all_refer_to_all_are_costly() {
        let all: Vec<Value> = (0..12).map(|at| json!({ "$ref": format!("#/$defs/d{at}") })).collect();
        let definitions: Map<String, Value> =
            (0..12).map(|at| (format!("d{at}"), json!({ "anyOf": all }))).collect();
        assert!(is_costly(&json!({ "$ref": "#/$defs/d0", "$defs": definitions })));
    }

    #[test]
    fn only_the_references_that_cost_too_much_are_named() {
        let schema = bomb(20, |next| json!({ "allOf": [next, next] }));
        let costly = costly_references(&schema);
        assert!(costly.contains("#/$defs/l0") && !costly.contains("#/$defs/l12"), "{costly:?}");
    }
}
