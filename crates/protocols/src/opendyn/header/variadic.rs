//! Functions that take any number of arguments, where it is known what follows: a text for a format, or the value of an
//! option whose number says its type.

use serde_json::{Map, Value, json};

use super::c_type::CType;
use super::facts::Facts;
use super::forms::text;
use super::syntax::Declaration;
use super::words::words;

/// What follows an option of a range of numbers.
struct Kind {
    suffix: &'static str,
    /// What divides the numbers of options into kinds, and which kind this is.
    part: (i64, i64),
    value: fn() -> Value,
}

/// As libcurl divides its options.
const SET: [Kind; 3] = [
    Kind { suffix: "long", part: (10_000, 0), value: || whole("long") },
    Kind { suffix: "text", part: (10_000, 1), value: || taken(text()) },
    Kind { suffix: "offset", part: (10_000, 3), value: || whole("long") },
];
const GET: [Kind; 4] = [
    Kind {
        suffix: "text",
        part: (0x10_0000, 1),
        value: || {
            given(
                &json!({ "type": "string", "cType": { "type": "char", "isPointer": true, "indirect": true } }),
            )
        },
    },
    Kind {
        suffix: "long",
        part: (0x10_0000, 2),
        value: || given(&json!({ "type": "integer", "cType": { "type": "long", "isPointer": true } })),
    },
    Kind {
        suffix: "double",
        part: (0x10_0000, 3),
        value: || given(&json!({ "type": "number", "cType": { "type": "double", "isPointer": true } })),
    },
    Kind {
        suffix: "offset",
        part: (0x10_0000, 6),
        value: || given(&json!({ "type": "integer", "cType": { "type": "long", "isPointer": true } })),
    },
];

fn whole(word: &str) -> Value {
    taken(json!({ "type": "integer", "cType": { "type": word, "isPointer": false } }))
}

fn taken(schema: Value) -> Value {
    json!({ "name": "value", "schema": schema, "isIn": true, "required": true })
}

fn given(schema: &Value) -> Value {
    json!({ "name": "value", "schema": schema, "isIn": false, "required": true })
}

/// The descriptions of a function with `...`, from that of its fixed parameters.
pub(super) fn variants(
    facts: &Facts<'_>,
    declaration: &Declaration,
    function: Value,
) -> Result<Vec<Value>, String> {
    if takes_format(declaration) {
        return Ok(vec![with_text(function)]);
    }
    let name = words(&declaration.name);
    let kinds = match name.last().map(String::as_str) {
        Some("setopt") => &SET[..],
        Some("getinfo") => &GET[..],
        _ => &[][..],
    };
    let options = declaration.parameters.last().and_then(|last| match &last.c {
        CType::Enum(name) => facts.header.types.enumeration(name),
        _ => None,
    });
    let Some(options) = options.filter(|_| !kinds.is_empty() && declaration.parameters.len() == 2) else {
        return Err("it takes any number of arguments, and nothing says which".to_owned());
    };
    let options: Vec<(&str, i64)> = options
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), i64::try_from(*value).ok()?)))
        .collect();
    let mut all: Vec<Value> = kinds.iter().filter_map(|kind| of_kind(&function, kind, &options)).collect();
    all.extend(
        options
            .iter()
            .find(|(name, _)| name.ends_with("_WRITEFUNCTION"))
            .map(|one| collecting(&function, one)),
    );
    Ok(all)
}

/// `printf(const char *format, ...)`
fn takes_format(declaration: &Declaration) -> bool {
    let Some(last) = declaration.parameters.last() else { return false };
    let is_text = matches!(&last.c, CType::Pointer { to, constant: true } if **to == CType::Scalar("char"));
    let name = last.name.as_deref().unwrap_or_default().to_lowercase();
    let is_unnamed = name.is_empty() && words(&declaration.name).iter().any(|word| word.ends_with("printf"));
    let is_reading =
        words(&declaration.name).iter().any(|word| word.ends_with("scanf") || word.ends_with("unpack"));
    is_text && !is_reading && (is_unnamed || ["format", "fmt", "zformat", "msg"].contains(&name.as_str()))
}

/// The format is `%s`, and a text follows.
fn with_text(mut function: Value) -> Value {
    let parameters = function["parameters"].as_array_mut();
    let fixed = parameters.map_or(0, |parameters| {
        if let Some(format) = parameters.last_mut() {
            format["schema"] = text();
            format["schema"]["const"] = "%s".into();
            format["required"] = true.into();
            if let Some(members) = format.as_object_mut() {
                members.remove("guess");
            }
        }
        let count = parameters.len();
        parameters.push(json!({ "name": "text", "schema": text(), "isIn": true, "required": true }));
        count
    });
    function["fixedParameters"] = fixed.into();
    function
}

fn of_kind(function: &Value, kind: &Kind, options: &[(&str, i64)]) -> Option<Value> {
    let (divisor, part) = kind.part;
    let own = options.iter().filter(|(_, value)| value / divisor == part && value % divisor != 0);
    let names: Map<String, Value> = own.map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    if names.is_empty() {
        return None;
    }
    let mut described = named(function, kind.suffix);
    described["parameters"][1]["schema"]["names"] = Value::Object(names);
    described["parameters"].as_array_mut()?.push((kind.value)());
    Some(described)
}

/// The function that receives data, which collects it.
fn collecting(function: &Value, (option, number): &(&str, i64)) -> Value {
    let mut described = named(function, "write");
    let description = format!(
        "Collects what is received ({option}); the items are given by the tool whose name ends with `collected`."
    );
    described["description"] = description.into();
    described["parameters"][1]["schema"]["const"] = (*number).into();
    if let Some(schema) = described["parameters"][1]["schema"].as_object_mut() {
        schema.remove("names");
    }
    let object = described["parameters"][0]["name"].clone();
    let length = json!(["size", "count"]);
    let callback = json!({
        "parameters": [
            { "name": "data", "type": "char", "isPointer": true, "size": length },
            { "name": "size", "type": "unsigned long", "hidden": true },
            { "name": "count", "type": "unsigned long", "hidden": true },
            { "type": "void", "isPointer": true },
        ],
        "returns": length,
        "of": object,
    });
    let c = json!({ "type": "void", "isPointer": true, "callback": callback });
    let parameter = json!({ "name": "received", "schema": { "type": "array", "cType": c }, "isIn": false, "required": true });
    if let Some(parameters) = described["parameters"].as_array_mut() {
        parameters.push(parameter);
    }
    described
}

fn named(function: &Value, suffix: &str) -> Value {
    let mut described = function.clone();
    let name = function["name"].as_str().unwrap_or_default();
    let symbol = function.get("symbol").unwrap_or(&function["name"]).clone();
    described["name"] = format!("{name}_{suffix}").into();
    described["symbol"] = symbol;
    described["fixedParameters"] = 2.into();
    described
}
