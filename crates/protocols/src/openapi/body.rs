//! The body of a request: its media type, its schema, and how its properties are written.

use http::HeaderValue;
use serde_json::{Map, Value};

use super::document::{ApiDocument, Edition, text_of, texts_of};
use super::file_shape::file_shape;
use super::media::{MediaClass, best_media};
use super::parameters::set_collection_format;
use super::path_items::FoundOperation;
use crate::http_request::{
    BodyMedia, OperationParameter, ParameterPlace, ParameterStyle, PropertyEncoding, PropertyForm,
};

/// A body as the document describes it.
pub(super) struct ReadBody<'d> {
    pub(super) schema: BodySchema<'d>,
    pub(super) description: Option<&'d str>,
    pub(super) required: bool,
    /// The document says that it may be left out, and does not just fail to say anything.
    pub(super) omittable: bool,
    pub(super) media: BodyMedia,
    pub(super) content_type: HeaderValue,
}

/// Where the schema of a body stands.
pub(super) enum BodySchema<'d> {
    Described(&'d Value),
    /// Of 2.0: each parameter is a property.
    Fields(Vec<&'d Map<String, Value>>),
    /// The bytes of a file.
    File,
    /// A text that is not JSON, whatever the schema says of the values in it.
    Text,
    Anything,
}

/// The body of an operation, if it has one.
pub(super) fn read<'d>(
    document: &'d ApiDocument,
    found: &FoundOperation<'d>,
    declared: &[&'d Map<String, Value>],
) -> Result<Option<ReadBody<'d>>, String> {
    match document.edition {
        Edition::V2 => of_parameters(document, found, declared),
        Edition::V3_0 | Edition::V3_1 => {
            let Some(body) = found.operation.get("requestBody") else { return Ok(None) };
            let body = document.followed(body).map_err(|why| format!("the body of the request: {why}"))?;
            of_content(document, body)
        }
    }
}

fn of_content<'d>(
    document: &'d ApiDocument,
    body: &'d Map<String, Value>,
) -> Result<Option<ReadBody<'d>>, String> {
    let content = body.get("content").and_then(Value::as_object);
    let Some((class, media_type, media)) = content.and_then(best_media) else { return Ok(None) };
    let described = media.get("schema");
    let schema = body_schema(document, class, described);
    let encoding = media.get("encoding").and_then(Value::as_object);
    let encodings = encodings(document, described, encoding);
    Ok(Some(ReadBody {
        schema,
        description: text_of(body, "description"),
        required: body.get("required") == Some(&Value::Bool(true)),
        omittable: body.get("required") == Some(&Value::Bool(false)),
        media: body_media(class, encodings),
        content_type: content_type(class, media_type)?,
    }))
}

/// What a body is described by. Only JSON and forms can be made of values: other types are given as they are sent.
fn body_schema<'d>(
    document: &'d ApiDocument,
    class: MediaClass,
    described: Option<&'d Value>,
) -> BodySchema<'d> {
    match (class, described) {
        (MediaClass::Bytes, _) => BodySchema::File,
        (MediaClass::Text, Some(schema)) if is_plain(document, schema) => BodySchema::Described(schema),
        (MediaClass::Text, _) => BodySchema::Text,
        (MediaClass::Json | MediaClass::Form | MediaClass::Multipart, Some(schema)) => {
            BodySchema::Described(schema)
        }
        (MediaClass::Json | MediaClass::Form | MediaClass::Multipart, None) => BodySchema::Anything,
    }
}

/// Whether only values fit a schema that are text by themselves.
fn is_plain(document: &ApiDocument, schema: &Value) -> bool {
    let plain = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "number" | "boolean"));
    match document.followed(schema).ok().and_then(|map| map.get("type")) {
        Some(Value::Array(kinds)) => kinds.iter().all(plain),
        Some(kind) => plain(kind),
        None => false,
    }
}

fn body_media(class: MediaClass, encodings: Vec<(String, PropertyEncoding)>) -> BodyMedia {
    match class {
        MediaClass::Json => BodyMedia::Json,
        MediaClass::Form => BodyMedia::Form(encodings),
        MediaClass::Multipart => BodyMedia::Multipart(encodings),
        MediaClass::Text => BodyMedia::Text,
        MediaClass::Bytes => BodyMedia::Bytes,
    }
}

fn content_type(class: MediaClass, media_type: &str) -> Result<HeaderValue, String> {
    let concrete = match class {
        _ if !media_type.contains('*') => media_type,
        MediaClass::Json => "application/json",
        MediaClass::Form => "application/x-www-form-urlencoded",
        MediaClass::Multipart => "multipart/form-data",
        MediaClass::Text => "text/plain",
        MediaClass::Bytes => "application/octet-stream",
    };
    HeaderValue::from_str(concrete)
        .map_err(|_| "the media type of the body cannot be sent in a header".to_owned())
}

/// How each property of a form is written: by `encoding`, and files by their schema.
fn encodings(
    document: &ApiDocument,
    schema: Option<&Value>,
    encoding: Option<&Map<String, Value>>,
) -> Vec<(String, PropertyEncoding)> {
    let schema = schema.and_then(|schema| document.followed(schema).ok());
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let mut encodings: Vec<(String, PropertyEncoding)> = Vec::new();
    for (name, property) in properties.into_iter().flatten() {
        let said = encoding.and_then(|all| all.get(name)?.as_object());
        let form = if file_shape(document, property).is_some() { PropertyForm::File } else { styled(said) };
        let content_type = said.and_then(|said| text_of(said, "contentType"));
        let is_json = content_type.is_some_and(|kind| MediaClass::of(kind) == MediaClass::Json);
        let form = if is_json && form == PropertyForm::Plain { PropertyForm::Json } else { form };
        let is_text = content_type.is_some_and(|kind| !is_json && MediaClass::of(kind) == MediaClass::Text);
        let form = if is_text && form == PropertyForm::Plain && !is_plain(document, property) {
            PropertyForm::Text
        } else {
            form
        };
        // A list of types leaves the choice to the client.
        let content_type = content_type.filter(|kind| !kind.contains([',', '*'])).map(str::to_owned);
        if form != PropertyForm::Plain || content_type.is_some() {
            encodings.push((name.clone(), PropertyEncoding { form, content_type }));
        }
    }
    encodings
}

fn styled(said: Option<&Map<String, Value>>) -> PropertyForm {
    let style = match said.and_then(|said| text_of(said, "style")) {
        Some("form") => ParameterStyle::Form,
        Some("spaceDelimited") => ParameterStyle::SpaceDelimited,
        Some("pipeDelimited") => ParameterStyle::PipeDelimited,
        Some("deepObject") => ParameterStyle::DeepObject,
        _ => return PropertyForm::Plain,
    };
    let flag = |member: &str| said.and_then(|said| said.get(member)?.as_bool());
    let explode = flag("explode").unwrap_or(style == ParameterStyle::Form);
    PropertyForm::Styled { style, explode, allow_reserved: flag("allowReserved").unwrap_or_default() }
}

/// The body of an operation of 2.0: one parameter, or the fields of a form.
fn of_parameters<'d>(
    document: &'d ApiDocument,
    found: &FoundOperation<'d>,
    declared: &[&'d Map<String, Value>],
) -> Result<Option<ReadBody<'d>>, String> {
    let in_place = |place: &'static str| {
        declared.iter().copied().filter(move |parameter| text_of(parameter, "in") == Some(place))
    };
    if let Some(body) = in_place("body").next() {
        return of_body_parameter(document, found, body).map(Some);
    }
    let fields: Vec<_> = in_place("formData").collect();
    if fields.is_empty() { Ok(None) } else { of_fields(document, found, fields).map(Some) }
}

/// The media type of a request of 2.0, out of those that the operation takes.
fn consumed<'d>(
    document: &'d ApiDocument,
    found: &FoundOperation<'d>,
    classes: &[MediaClass],
) -> Option<&'d str> {
    let own = texts_of(found.operation, "consumes");
    let shared = || document.root.as_object().map(|root| texts_of(root, "consumes")).unwrap_or_default();
    let all = if own.is_empty() { shared() } else { own };
    let fitting = all.into_iter().filter(|kind| classes.contains(&MediaClass::of(kind)));
    fitting.min_by_key(|kind| MediaClass::of(kind))
}

fn of_body_parameter<'d>(
    document: &'d ApiDocument,
    found: &FoundOperation<'d>,
    body: &'d Map<String, Value>,
) -> Result<ReadBody<'d>, String> {
    let classes = [MediaClass::Json, MediaClass::Text, MediaClass::Bytes];
    let media_type = consumed(document, found, &classes).unwrap_or("application/json");
    let class = MediaClass::of(media_type);
    Ok(ReadBody {
        schema: body_schema(document, class, body.get("schema")),
        description: text_of(body, "description"),
        required: body.get("required") == Some(&Value::Bool(true)),
        omittable: body.get("required") == Some(&Value::Bool(false)),
        media: body_media(class, Vec::new()),
        content_type: content_type(class, media_type)?,
    })
}

fn of_fields<'d>(
    document: &'d ApiDocument,
    found: &FoundOperation<'d>,
    fields: Vec<&'d Map<String, Value>>,
) -> Result<ReadBody<'d>, String> {
    let has_file = fields.iter().any(|field| text_of(field, "type") == Some("file"));
    let (classes, usual): (&[MediaClass], &str) = if has_file {
        (&[MediaClass::Multipart], "multipart/form-data")
    } else {
        (&[MediaClass::Form, MediaClass::Multipart], "application/x-www-form-urlencoded")
    };
    let media_type = consumed(document, found, classes).unwrap_or(usual);
    let class = MediaClass::of(media_type);
    let encodings = fields.iter().filter_map(|field| field_encoding(field)).collect();
    Ok(ReadBody {
        required: fields.iter().any(|field| field.get("required") == Some(&Value::Bool(true))),
        schema: BodySchema::Fields(fields),
        description: None,
        omittable: false,
        media: body_media(class, encodings),
        content_type: content_type(class, media_type)?,
    })
}

fn field_encoding(field: &Map<String, Value>) -> Option<(String, PropertyEncoding)> {
    let name = field.get("name")?.as_str()?.to_owned();
    let form = match text_of(field, "type") {
        Some("file") => PropertyForm::File,
        Some("array") => {
            let mut wire = OperationParameter::new("", ParameterPlace::Query);
            set_collection_format(&mut wire, field);
            PropertyForm::Styled { style: wire.style, explode: wire.explode, allow_reserved: false }
        }
        _ => return None,
    };
    Some((name, PropertyEncoding { form, content_type: None }))
}
