//! Parameters of an operation, those that its path shares with others included: where each goes, and its schema.

use serde_json::{Map, Value, json};

use super::arguments::ArgumentNames;
use super::document::{ApiDocument, Edition, shown, text_of};
use super::media::{MediaClass, first_media};
use super::path_items::FoundOperation;
use super::request_path::RequestPath;
use super::schema_writer::SchemaWriter;
use crate::http_request::{OperationParameter, ParameterPlace, ParameterStyle, path_names};

/// Headers that a document cannot make arguments of: what they say is decided by how a request is sent. The first three are
/// named by OpenAPI itself.
const NOT_ARGUMENTS: [&str; 15] = [
    "accept",
    "content-type",
    "authorization",
    "host",
    "connection",
    "content-length",
    "content-encoding",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "cookie",
    "proxy-authorization",
    "proxy-authenticate",
];

/// A parameter that becomes an argument.
pub(super) struct ReadParameter {
    pub(super) wire: OperationParameter,
    pub(super) schema: Value,
    pub(super) required: bool,
}

/// The parameters of path and operation, of which the operation's override those of the path.
pub(super) fn declared<'d>(
    document: &'d ApiDocument,
    found: &FoundOperation<'d>,
) -> Result<Vec<&'d Map<String, Value>>, String> {
    let mut declared: Vec<&Map<String, Value>> = Vec::new();
    for owner in [found.item, found.operation] {
        let list = owner.get("parameters").and_then(Value::as_array);
        for (index, parameter) in list.into_iter().flatten().enumerate() {
            let parameter =
                document.followed(parameter).map_err(|why| format!("parameter {index}: {why}"))?;
            let same = |known: &&mut &Map<String, Value>| {
                known.get("name") == parameter.get("name") && known.get("in") == parameter.get("in")
            };
            match declared.iter_mut().find(same) {
                Some(known) => *known = parameter,
                None => declared.push(parameter),
            }
        }
    }
    Ok(declared)
}

/// A parameter with its place and name; one that only the path names has no description.
type Placed<'d> = (ParameterPlace, &'d str, Option<&'d Map<String, Value>>);

/// Those of them that are arguments by themselves, in the order path, query, header, cookie for names that clash.
pub(super) fn read<'d>(
    document: &'d ApiDocument,
    found: &FoundOperation<'d>,
    declared: &[&'d Map<String, Value>],
    writer: &mut SchemaWriter<'d>,
    names: &mut ArgumentNames,
) -> Result<Vec<ReadParameter>, String> {
    let mut read = Vec::new();
    for (place, name, parameter) in placed(found, declared)? {
        let mut wire = OperationParameter::new(name, place);
        wire.argument = names.give(name, place_word(place));
        read.push(match parameter {
            Some(parameter) => described(document, parameter, wire, writer),
            None => ReadParameter { wire, schema: json!({ "type": "string" }), required: true },
        });
    }
    Ok(read)
}

fn placed<'d>(
    found: &FoundOperation<'d>,
    declared: &[&'d Map<String, Value>],
) -> Result<Vec<Placed<'d>>, String> {
    let path = RequestPath::of(found.path);
    let mut placed: Vec<Placed<'d>> = Vec::new();
    for parameter in declared {
        // Forms of documentation tools leave rows without a name behind. Nothing could be sent for them.
        let Some(name) = parameter.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            continue;
        };
        if let Some((place, name)) = place_of(&path, parameter, name)? {
            placed.push((place, name, Some(*parameter)));
        }
    }
    // What a path names and nobody describes is a text.
    let has = |placed: &[Placed<'d>], wanted| placed.iter().any(|(place, name, _)| (*place, *name) == wanted);
    let in_path =
        path_names(found.path).filter(|name| path_names(&path.template).any(|known| known == *name));
    for name in in_path {
        if !has(&placed, (ParameterPlace::Path, name)) {
            placed.push((ParameterPlace::Path, name, None));
        }
    }
    for (name, in_braces) in path.query {
        let is_described = [name, in_braces].iter().any(|name| has(&placed, (ParameterPlace::Query, name)));
        if !is_described {
            placed.push((ParameterPlace::Query, name, None));
        }
    }
    placed.sort_by_key(|(place, ..)| *place as u8);
    Ok(placed)
}

/// Where a parameter goes, and its name there; none for one that is no argument.
fn place_of<'d>(
    path: &RequestPath<'d>,
    parameter: &Map<String, Value>,
    name: &'d str,
) -> Result<Option<(ParameterPlace, &'d str)>, String> {
    let place = match text_of(parameter, "in") {
        Some("path") if path_names(&path.template).all(|known| known != name) => {
            let in_query = path.query.iter().find(|(_, in_braces)| *in_braces == name);
            return Ok(in_query.map(|(name, _)| (ParameterPlace::Query, *name)));
        }
        Some("path") => ParameterPlace::Path,
        Some("query") => ParameterPlace::Query,
        Some("header") if NOT_ARGUMENTS.iter().any(|known| name.eq_ignore_ascii_case(known)) => {
            return Ok(None);
        }
        Some("header") => ParameterPlace::Header,
        Some("cookie") => ParameterPlace::Cookie,
        // Of 2.0: they are the body.
        Some("body" | "formData") => return Ok(None),
        // What cannot be sent need not be, unless the document requires it.
        _ if parameter.get("required") != Some(&Value::Bool(true)) => return Ok(None),
        other => {
            let place = other.map_or_else(|| "nowhere".to_owned(), |place| format!("in `{}`", shown(place)));
            return Err(format!("the parameter `{}` is {place}, which is not known", shown(name)));
        }
    };
    Ok(Some((place, name)))
}

fn place_word(place: ParameterPlace) -> &'static str {
    match place {
        ParameterPlace::Path => "path",
        ParameterPlace::Query => "query",
        ParameterPlace::Header => "header",
        ParameterPlace::Cookie => "cookie",
    }
}

fn described<'d>(
    document: &'d ApiDocument,
    parameter: &'d Map<String, Value>,
    mut wire: OperationParameter,
    writer: &mut SchemaWriter<'d>,
) -> ReadParameter {
    let required =
        wire.place == ParameterPlace::Path || parameter.get("required") == Some(&Value::Bool(true));
    let mut schema = match document.edition {
        Edition::V2 => {
            set_collection_format(&mut wire, parameter);
            parameter_itself(parameter, writer)
        }
        Edition::V3_0 | Edition::V3_1 => {
            set_style(&mut wire, parameter);
            let content = parameter.get("content").and_then(Value::as_object).and_then(first_media);
            if let Some((class, _)) = &content
                && *class == MediaClass::Json
            {
                wire.style = ParameterStyle::Json;
            }
            let schema =
                content.and_then(|(_, media)| media.get("schema")).or_else(|| parameter.get("schema"));
            schema.map_or_else(|| json!({}), |schema| writer.write(schema))
        }
    };
    if let Value::Bool(_) = schema {
        schema = json!({});
    }
    for member in ["description", "deprecated"] {
        if let (Some(said), Value::Object(map)) = (parameter.get(member), &mut schema) {
            map.insert(member.to_owned(), said.clone());
        }
    }
    ReadParameter { wire, schema, required }
}

/// A parameter of 2.0 is its own schema, but for `required`, which says that it must be there.
fn parameter_itself<'d>(parameter: &'d Map<String, Value>, writer: &mut SchemaWriter<'d>) -> Value {
    let mut schema = writer.members(parameter);
    schema.shift_remove("required");
    Value::Object(schema)
}

fn set_style(wire: &mut OperationParameter, parameter: &Map<String, Value>) {
    wire.style = match text_of(parameter, "style") {
        Some("simple") => ParameterStyle::Simple,
        Some("label") => ParameterStyle::Label,
        Some("matrix") => ParameterStyle::Matrix,
        Some("form") => ParameterStyle::Form,
        Some("spaceDelimited") => ParameterStyle::SpaceDelimited,
        Some("pipeDelimited") => ParameterStyle::PipeDelimited,
        Some("deepObject") => ParameterStyle::DeepObject,
        _ => wire.place.default_style(),
    };
    let usual = wire.style == ParameterStyle::Form;
    wire.explode = parameter.get("explode").and_then(Value::as_bool).unwrap_or(usual);
    wire.allow_reserved = parameter.get("allowReserved") == Some(&Value::Bool(true));
}

/// How 2.0 says what later editions call style and explode.
pub(super) fn set_collection_format(wire: &mut OperationParameter, parameter: &Map<String, Value>) {
    wire.explode = false;
    match text_of(parameter, "collectionFormat") {
        Some("multi") => wire.explode = true,
        Some("ssv") => wire.style = ParameterStyle::SpaceDelimited,
        Some("tsv") => wire.style = ParameterStyle::TabDelimited,
        Some("pipes") => wire.style = ParameterStyle::PipeDelimited,
        _ => {}
    }
}
