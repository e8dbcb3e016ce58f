//! Multipart bodies (RFC 7578): fields, JSON and files, each a part.

use std::borrow::Cow;

use http::HeaderValue;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::argument_text::{ObjectMembers, Shape, plain};
use super::body::{EncodedBody, encoding};
use super::escape::check_header;
use super::files::FileAccess;
use super::operation::{ParameterStyle, PropertyEncoding, PropertyForm};
use super::prepared::ArgumentFault;

const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";

/// Writes each member as a part, or as several.
pub(super) async fn encode(
    members: &ObjectMembers<'_>,
    encodings: &[(String, PropertyEncoding)],
    media: &HeaderValue,
    files: &FileAccess,
) -> Result<EncodedBody, ArgumentFault> {
    let mut parts = Parts { boundary: format!("toolmux-{}", Uuid::new_v4().simple()), out: Vec::new() };
    for (name, value) in &members.0 {
        let plain = PropertyEncoding::default();
        let encoding = encoding(encodings, name).unwrap_or(&plain);
        match encoding.form {
            PropertyForm::File => parts.files(name, value, encoding, files).await?,
            form => parts.field(name, value, form, encoding.content_type.as_deref()),
        }
    }
    parts.out.extend_from_slice(format!("--{}--\r\n", parts.boundary).as_bytes());
    let media = media.to_str().unwrap_or("multipart/form-data");
    let content_type = HeaderValue::try_from(format!("{media}; boundary={}", parts.boundary));
    let content_type =
        content_type.map_err(|_| ArgumentFault::new("", "cannot be sent as a multipart body"))?;
    Ok(EncodedBody { content_type, bytes: parts.out.into() })
}

/// The head of a part.
struct PartHead<'a> {
    name: &'a str,
    file: Option<&'a str>,
    content_type: Option<&'a str>,
}

struct Parts {
    boundary: String,
    out: Vec<u8>,
}

impl Parts {
    fn push(&mut self, head: &PartHead<'_>, bytes: &[u8]) {
        let name = quoted(head.name);
        let file = head.file.map(|file| format!("; filename=\"{}\"", quoted(file))).unwrap_or_default();
        let content_type =
            head.content_type.map(|kind| format!("\r\ncontent-type: {kind}")).unwrap_or_default();
        let boundary = &self.boundary;
        let head = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"{file}{content_type}\r\n\r\n"
        );
        self.out.extend_from_slice(head.as_bytes());
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// A file, or each of an array of files.
    async fn files(
        &mut self,
        name: &str,
        value: &RawValue,
        encoding: &PropertyEncoding,
        files: &FileAccess,
    ) -> Result<(), ArgumentFault> {
        let each = match Shape::of(value) {
            Shape::Null => return Ok(()),
            Shape::List(items) => items,
            Shape::Plain(_) | Shape::Object(_) => vec![value],
        };
        for value in each {
            let file = files.read(value).await.map_err(|message| ArgumentFault::new(name, message))?;
            let content_type =
                file.content_type.as_deref().or(encoding.content_type.as_deref()).unwrap_or(BYTES);
            let head = PartHead {
                name,
                file: Some(file.name.as_deref().unwrap_or(name)),
                content_type: Some(content_type),
            };
            self.push(&head, &file.bytes);
        }
        Ok(())
    }

    fn field(&mut self, name: &str, value: &RawValue, form: PropertyForm, content_type: Option<&str>) {
        match (Shape::of(value), form) {
            (_, PropertyForm::Json) => self.json(name, value, content_type),
            (Shape::Null, _) => {}
            (Shape::List(items), PropertyForm::Styled { style, explode: false, .. }) => {
                let texts: Vec<Cow<'_, str>> = items.into_iter().filter_map(plain).collect();
                self.push(
                    &PartHead { name, file: None, content_type },
                    texts.join(delimiter(style)).as_bytes(),
                );
            }
            (Shape::List(items), _) => items.into_iter().for_each(|item| self.one(name, item, content_type)),
            (Shape::Object(members), PropertyForm::Styled { style: ParameterStyle::DeepObject, .. }) => {
                for (key, value) in &members.0 {
                    self.one(&format!("{name}[{key}]"), value, content_type);
                }
            }
            (Shape::Plain(_) | Shape::Object(_), _) => self.one(name, value, content_type),
        }
    }

    /// One value: text as it is, arrays and objects as JSON, nothing for `null`.
    fn one(&mut self, name: &str, value: &RawValue, content_type: Option<&str>) {
        match plain(value) {
            Some(_) if value.get().starts_with(['{', '[']) => self.json(name, value, content_type),
            Some(text) => self.push(&PartHead { name, file: None, content_type }, text.as_bytes()),
            None => {}
        }
    }

    fn json(&mut self, name: &str, value: &RawValue, content_type: Option<&str>) {
        let content_type = content_type.or(Some(JSON));
        self.push(&PartHead { name, file: None, content_type }, value.get().as_bytes());
    }
}

fn delimiter(style: ParameterStyle) -> &'static str {
    match style {
        ParameterStyle::SpaceDelimited => " ",
        ParameterStyle::PipeDelimited => "|",
        ParameterStyle::TabDelimited => "\t",
        _ => ",",
    }
}

/// A name in quotes, as browsers write it: nothing in it can end the quotes or the line.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A").replace('\0', "%00")
}

/// True for a type that can stand in the head of a part.
pub(super) fn is_media_type(text: &str) -> bool {
    text.split_once('/').is_some_and(|(kind, rest)| !kind.is_empty() && !rest.is_empty())
        && check_header(text).is_ok()
}
