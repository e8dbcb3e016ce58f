//! The body of a request: JSON as it came, forms, text, bytes. Multipart bodies are in `multipart.rs`.

use std::borrow::Cow;

use bytes::Bytes;
use http::HeaderValue;
use serde_json::value::RawValue;
use toolmux_core::json_text::{RawJson, raw_of};

use super::argument_text::{ObjectMembers, Shape, plain};
use super::files::FileAccess;
use super::multipart;
use super::operation::{
    BodyMedia, BodySource, OperationParameter, ParameterPlace, ParameterStyle, PropertyEncoding,
    PropertyForm, RequestBody,
};
use super::prepared::ArgumentFault;
use super::style::WireStyle;

#[derive(Debug)]
pub(super) struct PreparedBody {
    source: BodySource,
    media: BodyMedia,
    content_type: HeaderValue,
    /// What stands before and after the JSON of the arguments.
    around: (String, &'static str),
    /// Arguments that go elsewhere.
    elsewhere: Vec<String>,
}

/// A body with its type.
#[derive(Debug)]
pub(super) struct EncodedBody {
    pub(super) content_type: HeaderValue,
    pub(super) bytes: Bytes,
}

impl PreparedBody {
    pub(super) fn new(body: RequestBody, parameters: &[OperationParameter]) -> Self {
        let RequestBody { source, media, content_type } = body;
        let taken = parameters.iter().filter(|parameter| parameter.fixed.is_none());
        let around = match &media {
            BodyMedia::GraphQl { query } => {
                let query = raw_of(&query.as_str().into());
                (format!(r#"{{"query":{},"variables":"#, query.get()), "}")
            }
            _ => (String::new(), ""),
        };
        let elsewhere = taken.map(|parameter| parameter.argument.clone()).collect();
        PreparedBody { source, media, content_type, around, elsewhere }
    }

    /// The body that the arguments make; none when they have none. `arguments` is the text of `members`.
    pub(super) async fn encode(
        &self,
        arguments: &RawValue,
        members: &ObjectMembers<'_>,
        files: &FileAccess,
    ) -> Result<Option<EncodedBody>, ArgumentFault> {
        let (argument, value) = match &self.source {
            BodySource::Argument(name) => match members.get(name) {
                Some(value) => (name.as_str(), Cow::Borrowed(value)),
                None => return Ok(None),
            },
            BodySource::Remaining(renamed) => ("", self.remaining(arguments, members, renamed)),
        };
        let bytes = match &self.media {
            BodyMedia::Json | BodyMedia::GraphQl { .. } => self.json(&value),
            BodyMedia::Form(encodings) => form(&object(argument, &value)?, encodings)?,
            BodyMedia::Multipart(encodings) => {
                let parts = object(argument, &value)?;
                return multipart::encode(&parts, encodings, &self.content_type, files).await.map(Some);
            }
            BodyMedia::Text => plain(&value).unwrap_or_default().into_owned().into_bytes(),
            BodyMedia::Bytes => {
                files.read(&value).await.map_err(|message| ArgumentFault::new(argument, message))?.bytes
            }
        };
        Ok(Some(EncodedBody { content_type: self.content_type.clone(), bytes: bytes.into() }))
    }

    fn json(&self, value: &RawValue) -> Vec<u8> {
        [self.around.0.as_bytes(), value.get().as_bytes(), self.around.1.as_bytes()].concat()
    }

    /// An object of the arguments that go nowhere else; the text as it came where that is all of them.
    fn remaining<'a>(
        &self,
        arguments: &'a RawValue,
        members: &ObjectMembers<'a>,
        renamed: &[(String, String)],
    ) -> Cow<'a, RawValue> {
        if self.elsewhere.is_empty() && renamed.is_empty() {
            return Cow::Borrowed(arguments);
        }
        let mut text = String::with_capacity(arguments.get().len());
        text.push('{');
        for (name, value) in &members.0 {
            if self.elsewhere.iter().any(|taken| taken == name) {
                continue;
            }
            if text.len() > 1 {
                text.push(',');
            }
            let own = renamed.iter().find(|(argument, _)| argument == name);
            let name = own.map_or(&**name, |(_, property)| property);
            text.push_str(raw_of(&name.into()).get());
            text.push(':');
            text.push_str(value.get());
        }
        text.push('}');
        let whole: RawJson =
            RawValue::from_string(text).expect("names and values that are JSON make an object");
        Cow::Owned(whole)
    }
}

fn object<'a>(argument: &str, value: &'a RawValue) -> Result<ObjectMembers<'a>, ArgumentFault> {
    match Shape::of(value) {
        Shape::Object(members) => Ok(members),
        Shape::Null => Ok(ObjectMembers::default()),
        Shape::Plain(_) | Shape::List(_) => {
            Err(ArgumentFault::new(argument, "must be an object: each of its members is a field of a form"))
        }
    }
}

/// How a property is written that may have no description.
pub(super) fn encoding<'a>(
    encodings: &'a [(String, PropertyEncoding)],
    name: &str,
) -> Option<&'a PropertyEncoding> {
    encodings.iter().find(|(known, _)| known == name).map(|(_, encoding)| encoding)
}

fn form(
    members: &ObjectMembers<'_>,
    encodings: &[(String, PropertyEncoding)],
) -> Result<Vec<u8>, ArgumentFault> {
    let mut out = Vec::new();
    for (name, value) in &members.0 {
        let form = encoding(encodings, name).map_or(PropertyForm::Plain, |encoding| encoding.form);
        let (style, explode, allow_reserved) = match form {
            PropertyForm::Styled { style, explode, allow_reserved } => (style, explode, allow_reserved),
            PropertyForm::Json => (ParameterStyle::Json, false, false),
            PropertyForm::Plain if value.get().starts_with('{') => (ParameterStyle::Json, false, false),
            PropertyForm::Plain | PropertyForm::Text | PropertyForm::File => {
                (ParameterStyle::Form, true, false)
            }
        };
        let parameter = OperationParameter {
            style,
            explode,
            allow_reserved,
            ..OperationParameter::new(&**name, ParameterPlace::Query)
        };
        let lead = if out.is_empty() { "" } else { "&" };
        let fault = |message| ArgumentFault::new(name, message);
        WireStyle::of(&parameter).write(value, lead, &mut out).map_err(fault)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
