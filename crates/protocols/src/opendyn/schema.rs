//! The schemas that callers see: visible inputs with the ranges of their C types, and the result object.

use serde_json::{Map, Value, json};
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Returns, Tool};
use toolmux_core::version::Version;
use toolmux_dylib_host::scalar::Scalar;

use super::carrier::{Carrier, Element, FLOAT_END, JsonForm, Range};
use super::document::{Encoding, ValueNames};
use super::plan::{ERROR_MESSAGE, Input, Output, Planned};
use super::schema_structure::structure;

/// Floats that JSON has no numbers for.
const NOT_JSON: [(&str, f64); 3] =
    [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

/// How much of what is said about a library stands at each of its functions.
const MOST_ABOUT: usize = 300;

impl Planned {
    /// The function as a tool of the catalogue. What the library is for stands behind what the function does: most
    /// protocols have no other place for it.
    pub(super) fn tool(&self, version: Version, about: Option<&str>) -> Tool {
        let description = match about {
            Some(about) => {
                let about: String = about.chars().take(MOST_ABOUT).collect();
                format!("{}\n\nThe library: {about}", self.description)
            }
            None => self.description.clone(),
        };
        let mut tool = Tool::new(self.name.as_str(), description.as_str(), Schema::new(self.input()));
        tool.version = version;
        tool.returns = Returns::Matching(Schema::new(self.output()));
        tool
    }

    pub(super) fn input(&self) -> Value {
        let properties: Map<String, Value> =
            self.inputs.iter().map(|input| (input.name.clone(), taken(input))).collect();
        let required: Vec<&str> = self
            .inputs
            .iter()
            .filter(|input| input.absent.is_none())
            .map(|input| input.name.as_str())
            .collect();
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema["additionalProperties"] = false.into();
        schema
    }

    pub(super) fn output(&self) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for output in &self.outputs {
            if let Some(name) = &output.name {
                properties.insert(name.clone(), given(output));
                required.push(name.as_str());
            }
        }
        if self.tells_code {
            let description = "What the returned value means";
            properties.insert("code".into(), json!({ "type": "string", "description": description }));
        }
        if self.tells_errno {
            properties.insert("errno".into(), json!({ "type": "object", "description": "What went wrong" }));
        }
        if self.function.explanation.is_some() {
            let description = "Why it failed, in the library's own words";
            properties.insert(ERROR_MESSAGE.into(), json!({ "type": "string", "description": description }));
        }
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }
}

fn taken(input: &Input) -> Value {
    let mut schema = carried(&input.carrier, Side::Taken);
    if let Some(names) = &input.names {
        schema = named(schema, names);
    }
    if input.nullable {
        nullable(&mut schema);
    }
    describe(&mut schema, input.description.as_deref());
    if let Some(default) = &input.default {
        schema["default"] = default.clone();
    }
    schema
}

/// A number that may also be given by its name; flags as a list of names.
pub(super) fn named(number: Value, names: &ValueNames) -> Value {
    let words: Vec<&str> = names.values.iter().map(|(name, _)| name.as_str()).collect();
    let one = json!({ "type": "string", "enum": words });
    let mut alternatives = match number.get("anyOf") {
        Some(Value::Array(alternatives)) => alternatives.clone(),
        _ => vec![number],
    };
    if names.flags {
        alternatives.push(json!({ "type": "array", "items": one }));
    }
    alternatives.push(one);
    json!({ "anyOf": alternatives })
}

fn given(output: &Output) -> Value {
    let mut schema = carried(&output.carrier, Side::Given);
    if output.nullable {
        nullable(&mut schema);
    }
    describe(&mut schema, output.description.as_deref());
    schema
}

fn describe(schema: &mut Value, description: Option<&str>) {
    if let Some(text) = description {
        schema["description"] = match schema["description"].as_str() {
            Some(own) => format!("{text} ({own})").into(),
            None => text.into(),
        };
    }
}

fn nullable(schema: &mut Value) {
    if let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") {
        alternatives.push(json!({ "type": "null" }));
        return;
    }
    match &mut schema["type"] {
        Value::Array(kinds) => kinds.push("null".into()),
        kind => *kind = json!([kind.take(), "null"]),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Taken,
    Given,
}

fn carried(carrier: &Carrier, side: Side) -> Value {
    match carrier {
        Carrier::Word(element) | Carrier::One(element) => number(*element, side),
        Carrier::Many(element) => json!({ "type": "array", "items": number(*element, side) }),
        // Text that is not UTF-8 is given as an object.
        // The same as results have them, so that what one function gives another takes.
        Carrier::Bytes(Encoding::Utf8 | Encoding::Json) => json!({ "type": ["string", "object"] }),
        Carrier::Text => match side {
            Side::Taken => json!({ "type": "string" }),
            Side::Given => json!({ "type": ["string", "object"] }),
        },
        Carrier::Bytes(Encoding::Hex) => {
            json!({ "type": "string", "pattern": "^([0-9A-Fa-f]{2})*$", "description": "hexadecimal" })
        }
        Carrier::Bytes(Encoding::Base64) => {
            json!({ "type": "string", "contentEncoding": "base64", "description": "base64" })
        }
        Carrier::Structure(layout) => structure(layout, side),
        Carrier::Structures(layout) => json!({ "type": "array", "items": structure(layout, side) }),
        Carrier::Texts => match side {
            Side::Taken => json!({ "type": "array", "items": { "type": ["string", "null"] } }),
            Side::Given => json!({ "type": "array", "items": { "type": ["string", "object", "null"] } }),
        },
        Carrier::Json => json!({ "type": "array", "items": { "type": "object" } }),
        Carrier::Rows => {
            let cell = json!({ "type": ["string", "object", "null"] });
            json!({ "type": "array", "items": { "type": "object", "additionalProperties": cell } })
        }
        Carrier::Handle(tag) => {
            json!({ "type": "string", "description": format!("a handle such as `{tag}#…`") })
        }
    }
}

/// What is listed for a number is what is read: see `encode_element.rs`.
pub(super) fn number(element: Element, side: Side) -> Value {
    match (element.form, element.range, side) {
        (JsonForm::Boolean, ..) => json!({ "type": "boolean" }),
        // One byte, which text beyond ASCII is not.
        (JsonForm::Letter, _, Side::Taken) => json!({ "type": "string", "pattern": "^[\\u0000-\\u007f]$" }),
        (JsonForm::Letter, _, Side::Given) => json!({ "type": ["string", "object"] }),
        (JsonForm::Decimal, ..) => decimal(element),
        (JsonForm::Number, Range::Float(..), _) => float(element, side),
        (JsonForm::Number, Range::Integer(..), Side::Given) => json!({ "type": "integer" }),
        (JsonForm::Number, Range::Integer(low, high), Side::Taken) => {
            let number = whole(element, low, high);
            if element.takes_decimal() { json!({ "anyOf": [number, decimal(element)] }) } else { number }
        }
    }
}

fn decimal(element: Element) -> Value {
    json!({ "type": "string", "pattern": element.decimal_pattern() })
}

fn whole(element: Element, low: i128, high: i128) -> Value {
    let mut schema = json!({ "type": "integer" });
    if let Some(low) = number_of(low) {
        schema["minimum"] = low;
    }
    // Readers whose numbers are floats would round the largest 64-bit integers, but not the next power of two.
    if element.takes_decimal() && Some(high) == element.scalar.range().map(|(_, high)| high) {
        schema["exclusiveMaximum"] = json!((high + 1) as f64);
    } else if let Some(high) = number_of(high) {
        schema["maximum"] = high;
    }
    schema
}

fn number_of(value: i128) -> Option<Value> {
    i64::try_from(value).map(Value::from).or_else(|_| u64::try_from(value).map(Value::from)).ok()
}

/// A number, or a text for what is no number in JSON, where the range has it. Two alternatives and not two types:
/// a reader would take `["number", "string"]` for any text.
fn float(element: Element, side: Side) -> Value {
    let admitted = |value: f64| side == Side::Given || element.range.admits(value);
    let words = NOT_JSON.iter().filter(|(_, value)| admitted(*value)).map(|(word, _)| *word);
    let words: Vec<&str> = words.collect();
    let mut number = json!({ "type": "number" });
    if side == Side::Taken {
        float_bounds(&mut number, element);
    }
    if words.is_empty() {
        return number;
    }
    json!({ "anyOf": [number, { "type": "string", "enum": words }] })
}

fn float_bounds(schema: &mut Value, element: Element) {
    let Range::Float(low, high) = element.range else { return };
    let narrow = element.scalar == Scalar::Float;
    if low.is_finite() && !(narrow && low <= -FLOAT_END) {
        schema["minimum"] = low.into();
    } else if narrow {
        schema["exclusiveMinimum"] = (-FLOAT_END).into();
    }
    if high.is_finite() && !(narrow && high >= FLOAT_END) {
        schema["maximum"] = high.into();
    } else if narrow {
        schema["exclusiveMaximum"] = FLOAT_END.into();
    }
}
