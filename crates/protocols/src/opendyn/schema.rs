//! The schemas that callers see: visible inputs with the ranges of their C types, and the result object.

use serde_json::{Map, Value, json};
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Returns, Tool};
use toolmux_core::version::Version;

use super::carrier::{Carrier, Element, Look, Range};
use super::document::Encoding;
use super::plan::{Input, Output, Planned};

/// Ranges of wider types are not told: readers whose numbers end at 53 bits would round them.
const WIDEST_TOLD: usize = 4;

impl Planned {
    /// The function as a tool of the catalogue.
    pub(super) fn tool(&self, version: Version) -> Tool {
        let mut tool = Tool::new(self.name.as_str(), self.description.as_str(), Schema::new(self.input()));
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
        if self.success.is_some() {
            let description = "What the returned value means";
            properties.insert("code".into(), json!({ "type": "string", "description": description }));
        }
        if self.function.errno {
            properties.insert("errno".into(), json!({ "type": "object", "description": "What went wrong" }));
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
    if input.nullable {
        nullable(&mut schema);
    }
    describe(&mut schema, input.description.as_deref());
    if let Some(default) = &input.default {
        schema["default"] = default.clone();
    }
    schema
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
    match &mut schema["type"] {
        Value::Array(kinds) => kinds.push("null".into()),
        kind => *kind = json!([kind.take(), "null"]),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Taken,
    Given,
}

fn carried(carrier: &Carrier, side: Side) -> Value {
    match carrier {
        Carrier::Word(element) | Carrier::One(element) => number(*element, side),
        Carrier::Many(element) => json!({ "type": "array", "items": number(*element, side) }),
        // Text that is not UTF-8 is given as an object.
        Carrier::Text | Carrier::Bytes(Encoding::Utf8) => match side {
            Side::Taken => json!({ "type": "string" }),
            Side::Given => json!({ "type": ["string", "object"] }),
        },
        Carrier::Bytes(Encoding::Hex) => json!({ "type": "string", "description": "hexadecimal" }),
        Carrier::Bytes(Encoding::Base64) => {
            json!({ "type": "string", "contentEncoding": "base64", "description": "base64" })
        }
        Carrier::Handle(tag) => {
            json!({ "type": "string", "description": format!("a handle such as `{tag}#1.1`") })
        }
    }
}

fn number(element: Element, side: Side) -> Value {
    let mut schema = match (element.look, element.range) {
        (Look::Boolean, _) => return json!({ "type": "boolean" }),
        (Look::Letter, _) => match side {
            Side::Taken => return json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
            Side::Given => return json!({ "type": ["string", "object"] }),
        },
        (Look::Decimal, _) => return json!({ "type": "string", "pattern": "^-?[0-9]+$" }),
        // NaN and the infinities are texts.
        (Look::Number, Range::Float(..)) => json!({ "type": ["number", "string"] }),
        (Look::Number, Range::Integer(..)) if side == Side::Taken && element.takes_decimal() => {
            json!({ "type": ["integer", "string"] })
        }
        (Look::Number, Range::Integer(..)) => json!({ "type": "integer" }),
    };
    if side == Side::Taken {
        bounds(&mut schema, element);
    }
    schema
}

fn bounds(schema: &mut Value, element: Element) {
    match element.range {
        Range::Integer(low, high) => {
            let widest = element.scalar.range();
            let told = |own: i128, whole: Option<i128>| {
                (element.scalar.size() <= WIDEST_TOLD || Some(own) != whole).then(|| i64::try_from(own).ok())
            };
            if let Some(Some(low)) = told(low, widest.map(|(low, _)| low)) {
                schema["minimum"] = low.into();
            }
            if let Some(Some(high)) = told(high, widest.map(|(_, high)| high)) {
                schema["maximum"] = high.into();
            }
        }
        Range::Float(low, high) => {
            if low.is_finite() {
                schema["minimum"] = low.into();
            }
            if high.is_finite() {
                schema["maximum"] = high.into();
            }
        }
    }
}
