//! What callers see of structures: objects whose members have the ranges of their C types.

use serde_json::{Map, Value, json};
use toolmux_dylib_host::scalar::Scalar;

use super::document::Encoding;
use super::layout::{FieldType, Layout, LayoutField};
use super::schema::{Side, named, number};

/// The schema of a structure, or of a union, of which callers give one member.
pub(super) fn structure(layout: &Layout, side: Side) -> Value {
    let given = |field: &&LayoutField| {
        !(layout.is_union && matches!(field.is, FieldType::Text | FieldType::Elements { .. }))
    };
    let fields = layout.fields.iter().filter(given);
    let members: Map<String, Value> = fields.map(|field| (field.name.clone(), listed(field, side))).collect();
    let mut schema = json!({ "type": "object", "properties": members });
    if side == Side::Taken {
        schema["additionalProperties"] = false.into();
        if layout.is_union {
            schema["minProperties"] = 1.into();
            schema["maxProperties"] = 1.into();
        }
    }
    schema
}

fn listed(field: &LayoutField, side: Side) -> Value {
    let one = one(&field.is, side);
    let mut schema = match (field.count, &field.is) {
        (None, _) => one,
        (Some(count), FieldType::Letters) => match side {
            Side::Taken => json!({ "type": "string", "maxLength": count }),
            Side::Given => one,
        },
        (Some(count), _) => json!({ "type": "array", "items": one, "maxItems": count }),
    };
    if let Some(description) = &field.description {
        schema["description"] = description.as_str().into();
    }
    schema
}

fn one(is: &FieldType, side: Side) -> Value {
    match (is, side) {
        (FieldType::Number(element, None) | FieldType::Bits { element, .. }, _) => number(*element, side),
        (FieldType::Number(element, Some(names)), _) => named(number(*element, side), names),
        (FieldType::Structure(layout), _) => structure(layout, side),
        (FieldType::Letters, Side::Taken) => json!({ "type": "string" }),
        (FieldType::Letters, Side::Given) => json!({ "type": ["string", "object"] }),
        (FieldType::Text, Side::Taken) => json!({ "type": ["string", "null"] }),
        (FieldType::Text, Side::Given) => json!({ "type": ["string", "object", "null"] }),
        (FieldType::Elements { element, encoding, .. }, _) => match (element.scalar, encoding) {
            (Scalar::Char | Scalar::UnsignedChar, Encoding::Hex) => {
                json!({ "type": ["string", "array", "null"], "description": "hexadecimal" })
            }
            (Scalar::Char | Scalar::UnsignedChar, Encoding::Base64) => {
                json!({ "type": ["string", "array", "null"], "description": "base64" })
            }
            (Scalar::Char | Scalar::UnsignedChar, _) => {
                json!({ "type": ["string", "object", "array", "null"] })
            }
            _ => json!({ "type": ["array", "null"], "items": number(*element, side) }),
        },
    }
}
