//! One parameter of a tool: its place, its style and its schema.

use serde_json::{Map, Value, json};
use toolmux_core::nearest::nearest;

use super::request_line::RequestLine;
use super::settings::{HttpParameter, PlaceSetting, RequiredSetting};
use crate::http_request::{
    FileAccess, OperationParameter, ParameterPlace, ParameterStyle, PropertyForm, path_names,
};

/// The keys of a parameter that are not of its schema.
const OWN: [&str; 6] = ["in", "name", "required", "style", "explode", "value"];

/// What JSON Schema knows, all drafts.
const KEYWORDS: &str = "$anchor $comment $defs $dynamicAnchor $dynamicRef $id $ref $schema additionalItems \
    additionalProperties allOf anyOf const contains contentEncoding contentMediaType contentSchema default definitions \
    dependencies dependentRequired dependentSchemas deprecated description else enum example examples exclusiveMaximum \
    exclusiveMinimum format if items maxContains maxItems maxLength maxProperties maximum minContains minItems minLength \
    minProperties minimum multipleOf not oneOf pattern patternProperties prefixItems properties propertyNames readOnly \
    then title type unevaluatedItems unevaluatedProperties uniqueItems writeOnly nullable";

/// A parameter, as the tool and as the request know it.
pub(super) struct Described {
    /// Absent for one that is not the caller's to choose.
    pub(super) schema: Option<Value>,
    pub(super) is_required: bool,
    /// How it is written in a form or a multipart body.
    pub(super) form: PropertyForm,
    /// Absent for one in the body.
    pub(super) parameter: Option<OperationParameter>,
    /// The name in the body.
    pub(super) body_name: String,
}

/// Describes a parameter. Says what is wrong with it, naming its keys.
pub(super) fn describe(
    name: &str,
    setting: &HttpParameter,
    line: &RequestLine<'_>,
    files: &FileAccess,
) -> Result<Described, String> {
    check_keys(setting)?;
    let wire = setting.name.as_deref().unwrap_or(name);
    let in_braces = path_names(line.path).any(|known| known == wire);
    let place = match setting.place {
        Some(PlaceSetting::Path) if !in_braces => {
            return Err(
                "has `in = \"path\"`, but the path of `request` does not have its name in braces".into()
            );
        }
        Some(place) if in_braces && place != PlaceSetting::Path => {
            return Err("is in braces in the path of `request`, and `in` says another place".into());
        }
        Some(place) => place,
        None if in_braces => PlaceSetting::Path,
        None if line.prefers_query() => PlaceSetting::Query,
        None => PlaceSetting::Body,
    };
    if setting.value.is_some() && place == PlaceSetting::Body {
        return Err("has a `value`, which is only for the path, the query, headers and cookies".into());
    }
    let is_file = setting.schema.get("type").is_some_and(|kind| kind == "file");
    if is_file && place != PlaceSetting::Body {
        return Err("has `type = \"file\"`, which is only for the body".into());
    }
    Ok(Described {
        schema: setting.value.is_none().then(|| schema(setting, is_file, files)),
        is_required: is_required(setting, place),
        form: property_form(setting, is_file),
        parameter: place.parameter().map(|place| parameter(name, wire, setting, place)),
        body_name: wire.to_owned(),
    })
}

fn property_form(setting: &HttpParameter, is_file: bool) -> PropertyForm {
    match setting.style.map(ParameterStyle::from) {
        _ if is_file => PropertyForm::File,
        Some(ParameterStyle::Json) => PropertyForm::Json,
        Some(style) => {
            let explode = setting.explode.unwrap_or(style == ParameterStyle::Form);
            PropertyForm::Styled { style, explode, allow_reserved: false }
        }
        None => PropertyForm::Plain,
    }
}

fn check_keys(setting: &HttpParameter) -> Result<(), String> {
    let known = || KEYWORDS.split_ascii_whitespace().chain(OWN);
    let is_unknown = |key: &&String| !known().any(|known| known == **key) && !key.starts_with("x-");
    let Some(key) = setting.schema.keys().find(is_unknown) else { return Ok(()) };
    Err(match nearest(key, known()) {
        Some(near) => format!("has an unknown key `{key}`; did you mean `{near}`?"),
        None => {
            format!("has an unknown key `{key}`; it may have {} and those of a JSON Schema", OWN.join(", "))
        }
    })
}

fn is_required(setting: &HttpParameter, place: PlaceSetting) -> bool {
    match &setting.required {
        _ if place == PlaceSetting::Path => true,
        Some(RequiredSetting::Parameter(required)) => *required,
        Some(RequiredSetting::Members(_)) | None => !setting.schema.contains_key("default"),
    }
}

fn schema(setting: &HttpParameter, is_file: bool, files: &FileAccess) -> Value {
    if is_file {
        let description = setting.schema.get("description").and_then(Value::as_str).unwrap_or("A file");
        return files.schema(description);
    }
    let mut schema: Map<String, Value> = setting.schema.clone().into_iter().collect();
    if let Some(RequiredSetting::Members(members)) = &setting.required {
        schema.insert("required".to_owned(), json!(members));
    }
    Value::Object(schema)
}

fn parameter(name: &str, wire: &str, setting: &HttpParameter, place: ParameterPlace) -> OperationParameter {
    let style = setting.style.map_or(place.default_style(), ParameterStyle::from);
    OperationParameter {
        argument: name.to_owned(),
        style,
        explode: setting.explode.unwrap_or(style == ParameterStyle::Form),
        fixed: setting.value.as_ref().map(Value::to_string),
        ..OperationParameter::new(wire, place)
    }
}
