//! Mutations of JSON documents: still JSON, with members and values where nobody expects them.

use serde_json::{Map, Value, json};

use crate::bytes::NUMBERS;
use crate::random::Random;

/// How often a text, an array or a level of nesting is repeated at most.
const MOST_REPEATED: usize = 80;

/// One mutation somewhere in a document; `other` is another document, whose parts may be copied.
pub(crate) fn mutate(document: &mut Value, other: &Value, random: &mut Random) {
    let chosen = random.below(size(other));
    let foreign = part(&mut other.clone(), chosen).map_or(Value::Null, |part| part.clone());
    let own = {
        let chosen = random.below(size(document));
        part(document, chosen).map_or(Value::Null, |part| part.clone())
    };
    let chosen = random.below(size(document));
    let Some(place) = part(document, chosen) else { return };
    match random.below(9) {
        0 => *place = own,
        1 => *place = foreign,
        2 => *place = sudden(random),
        3 => *place = repeated(std::mem::take(place), random),
        4 => *place = nested(std::mem::take(place), random),
        5 => remove_one(place, random),
        6 => add_one(place, foreign, random),
        7 => rename_one(place, random),
        _ => *place = number(random),
    }
}

/// How many values a document holds, itself included.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => members.values().map(size).sum(),
        _ => 0,
    }
}

/// The value with this number, counted from the top.
fn part(value: &mut Value, number: usize) -> Option<&mut Value> {
    fn find<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
        if *left == 0 {
            return Some(value);
        }
        *left -= 1;
        match value {
            Value::Array(items) => items.iter_mut().find_map(|item| find(item, left)),
            Value::Object(members) => members.values_mut().find_map(|member| find(member, left)),
            _ => None,
        }
    }
    let mut left = number;
    find(value, &mut left)
}

fn sudden(random: &mut Random) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(""),
        json!(" "),
        json!("null"),
        json!("\u{0}\n\r\u{2028}"),
        json!("5"),
        json!([]),
        json!({}),
        json!([null]),
        json!({ "": "" }),
        json!(-1),
        json!(0.5),
        json!("*"),
        json!("a\"b\\c"),
    ];
    random.pick(&values).cloned().unwrap_or_default()
}

fn number(random: &mut Random) -> Value {
    let text = random.pick(&NUMBERS).copied().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

fn repeated(value: Value, random: &mut Random) -> Value {
    let count = random.below(MOST_REPEATED);
    match value {
        Value::String(text) => Value::String(text.repeat(count)),
        Value::Object(members) => {
            let copies = (0..count.min(8)).flat_map(|copy| {
                members.iter().map(move |(name, value)| (format!("{name}{copy}"), value.clone()))
            });
            Value::Object(copies.collect())
        }
        value => Value::Array(vec![value; count]),
    }
}

fn nested(value: Value, random: &mut Random) -> Value {
    let key = ["properties", "items", "a", "anyOf"][random.below(4)];
    (0..random.below(MOST_REPEATED))
        .fold(value, |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({ key: inner }) })
}

fn remove_one(place: &mut Value, random: &mut Random) {
    match place {
        Value::Object(members) => {
            let names: Vec<String> = members.keys().cloned().collect();
            if let Some(name) = random.pick(&names) {
                members.shift_remove(name);
            }
        }
        Value::Array(items) if !items.is_empty() => drop(items.remove(random.below(items.len()))),
        other => *other = Value::Null,
    }
}

fn add_one(place: &mut Value, value: Value, random: &mut Random) {
    match place {
        Value::Object(members) => {
            let names = ["", "id", "name", "type", "$ref", "é", "a.b", "__proto__"];
            let name = random.pick(&names).copied().unwrap_or_default();
            members.insert(name.to_owned(), value);
        }
        Value::Array(items) => items.insert(random.below(items.len() + 1), value),
        other => *other = value,
    }
}

/// Gives a member the name of a neighbour or a strange one.
fn rename_one(place: &mut Value, random: &mut Random) {
    let Value::Object(members) = place else { return };
    let names: Vec<String> = members.keys().cloned().collect();
    let (Some(from), Some(to)) = (random.pick(&names).cloned(), random.pick(&names).cloned()) else { return };
    let to = if random.below(2) == 0 { format!("{to}\"\\\u{1}") } else { to.to_uppercase() };
    let renamed =
        |(name, value): (String, Value)| if name == from { (to.clone(), value) } else { (name, value) };
    *members = std::mem::take(members).into_iter().map(renamed).collect::<Map<_, _>>();
}
