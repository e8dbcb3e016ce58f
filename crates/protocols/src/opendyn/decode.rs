//! The bytes of a RESULT into one JSON object: the return value under its name, then the outputs under
//! theirs. The bytes come from a process that a library may have taken over: everything is checked.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use toolmux_dylib_host::denial::Denial;
use toolmux_dylib_host::scalar::{Class, Scalar};
use toolmux_dylib_host::value::{Reader, ValueError};

use super::carrier::{Carrier, Element, JsonForm};
use super::decode_structure::{Several, write_known_json, write_structures, write_texts};
use super::document::Encoding;
use super::handles::Opened;
use super::plan::{ERROR_MESSAGE, Output, Planned, Role};
use super::returned::{Returned, float};

/// What came of a function.
#[derive(Debug, PartialEq)]
pub(super) struct Decoded {
    /// The result object as JSON text.
    pub(super) json: String,
    /// In words, when the return value means that the function did not do what it was asked.
    pub(super) failure: Option<String>,
    /// What the function left in `errno`, if the worker was asked to tell.
    pub(super) errno: i32,
    /// What the sandbox refused while the function ran, if the worker was asked to tell.
    pub(super) denials: Vec<Denial>,
    /// Why the function failed, in the library's own words.
    pub(super) reason: Option<String>,
}

/// Bytes that do not fit the plan.
#[derive(Debug, thiserror::Error)]
pub(super) enum DecodeError {
    #[error("the result does not fit the description: {0}")]
    Value(#[from] ValueError),
    #[error("the result has {0} bytes where elements of {1} belong")]
    Elements(usize, usize),
    #[error("the result has an object that is not of this worker")]
    Object,
    #[error("what it says in JSON is not readable: {0}")]
    Json(#[from] serde_json::Error),
}

impl Planned {
    pub(super) fn decode(
        &self,
        result: &[u8],
        opened: Option<&Opened>,
        codes: &HashMap<String, String>,
    ) -> Result<Decoded, DecodeError> {
        let mut reader = Reader::new(result);
        let mut json = Vec::with_capacity(result.len() + 32);
        json.push(b'{');
        let mut verdict = Verdict::default();
        let mut value = Returned::Null;
        for output in &self.outputs {
            let returned = write_output(output, &mut reader, opened, &mut json)?;
            if output.must_fit && matches!(returned, Returned::Null) {
                verdict.failure = Some(self.unfit(value, output));
            }
            if output.role == Role::Return {
                value = returned;
                verdict = self.judge(returned, codes);
                if let Some(meaning) = verdict.meaning.as_ref().filter(|_| self.tells_code) {
                    member(&mut json, "code");
                    write_text(&mut json, meaning);
                }
            }
        }
        let (errno, denials) = if self.function.errno {
            (reader.errno()?, reader.bytes()?.map(serde_json::from_slice).transpose()?.unwrap_or_default())
        } else {
            (0, Vec::new())
        };
        if self.tells_errno && errno != 0 {
            write_errno(&mut json, errno);
        }
        let reason = match self.function.explanation {
            Some(_) => reader.bytes()?.map(|text| String::from_utf8_lossy(text).into_owned()),
            None => None,
        };
        if let Some(reason) = &reason {
            member(&mut json, ERROR_MESSAGE);
            write_text(&mut json, reason);
        }
        reader.end()?;
        json.push(b'}');
        let json = String::from_utf8(json).expect("only JSON text was written");
        Ok(Decoded { json, failure: verdict.failure, errno, denials, reason })
    }

    /// A number that was returned in place of a length.
    fn unfit(&self, returned: Returned, output: &Output) -> String {
        let name = output.name.as_deref().unwrap_or_default();
        let value = returned.words();
        format!("`{}` returned {value}: `{name}` is too small, or this is an error code", self.name)
    }

    fn judge(&self, returned: Returned, codes: &HashMap<String, String>) -> Verdict {
        if !self.tells_code {
            return Verdict::default();
        }
        let text = returned.words();
        let meaning = codes.get(&text).cloned().or_else(|| self.name_of(returned));
        let is_failed = self.success.as_ref().is_some_and(|success| !success.is_met(returned));
        let failure = is_failed.then(|| match &meaning {
            Some(meaning) => format!("`{}` returned {text}: {meaning}", self.name),
            None => format!("`{}` returned {text}, which means that it failed", self.name),
        });
        Verdict { meaning, failure }
    }

    fn name_of(&self, returned: Returned) -> Option<String> {
        let (Returned::Integer(value), Some(names)) = (returned, &self.return_names) else { return None };
        let named = names.values.iter().find(|(_, known)| i128::from(*known) == value);
        named.map(|(name, _)| name.clone())
    }
}

#[derive(Default)]
struct Verdict {
    meaning: Option<String>,
    failure: Option<String>,
}

fn write_output(
    output: &Output,
    reader: &mut Reader<'_>,
    opened: Option<&Opened>,
    json: &mut Vec<u8>,
) -> Result<Returned, DecodeError> {
    let mut hidden = Vec::new();
    let out = match &output.name {
        Some(name) => {
            member(json, name);
            json
        }
        None => &mut hidden,
    };
    match &output.carrier {
        Carrier::Word(element) => {
            let word = element.scalar.normalise(reader.word()?);
            write_element(out, *element, word);
            return Ok(Returned::of(element.scalar, word));
        }
        Carrier::Handle(tag) => {
            let word = reader.word()?;
            match word {
                0 => out.extend_from_slice(b"null"),
                _ => {
                    let text = opened.and_then(|opened| opened.text(tag, word));
                    write_text(out, &text.ok_or(DecodeError::Object)?);
                }
            }
            return Ok(if word == 0 { Returned::Null } else { Returned::Pointer });
        }
        Carrier::Structure(layout) => return write_structures(out, layout, Several::No, reader),
        Carrier::Structures(layout) => return write_structures(out, layout, Several::Yes, reader),
        carrier @ (Carrier::One(_)
        | Carrier::Many(_)
        | Carrier::Text
        | Carrier::Bytes(_)
        | Carrier::Rows
        | Carrier::Texts
        | Carrier::Json) => {
            let Some(bytes) = reader.bytes()? else {
                out.extend_from_slice(b"null");
                return Ok(Returned::Null);
            };
            write_buffer(out, carrier, bytes)?;
        }
    }
    Ok(Returned::Pointer)
}

pub(super) fn member(json: &mut Vec<u8>, name: &str) {
    if json.last() != Some(&b'{') {
        json.push(b',');
    }
    write_text(json, name);
    json.push(b':');
}

pub(super) fn write_buffer(out: &mut Vec<u8>, carrier: &Carrier, bytes: &[u8]) -> Result<(), DecodeError> {
    match carrier {
        Carrier::One(element) => {
            let size = element.scalar.size();
            if bytes.len() != size {
                return Err(DecodeError::Elements(bytes.len(), size));
            }
            write_element(out, *element, element.scalar.read(bytes));
        }
        Carrier::Many(element) => {
            let size = element.scalar.size();
            if !bytes.len().is_multiple_of(size) {
                return Err(DecodeError::Elements(bytes.len(), size));
            }
            out.push(b'[');
            for (index, item) in bytes.chunks_exact(size).enumerate() {
                if index != 0 {
                    out.push(b',');
                }
                write_element(out, *element, element.scalar.read(item));
            }
            out.push(b']');
        }
        Carrier::Bytes(Encoding::Hex) => {
            out.push(b'"');
            for byte in bytes {
                write_display(out, format_args!("{byte:02x}"));
            }
            out.push(b'"');
        }
        Carrier::Bytes(Encoding::Base64) => write_text(out, &STANDARD.encode(bytes)),
        Carrier::Rows => write_rows(out, bytes)?,
        Carrier::Json => write_known_json(out, bytes)?,
        Carrier::Texts => write_texts(out, bytes)?,
        Carrier::Structure(_) | Carrier::Structures(_) => {}
        Carrier::Text
        | Carrier::Bytes(Encoding::Utf8 | Encoding::Json)
        | Carrier::Word(_)
        | Carrier::Handle(_) => match str::from_utf8(bytes) {
            Ok(text) => write_text(out, text),
            Err(_) => {
                out.extend_from_slice(b"{\"base64\":");
                write_text(out, &STANDARD.encode(bytes));
                out.extend_from_slice(b",\"reason\":\"not UTF-8\"}");
            }
        },
    }
    Ok(())
}

/// Each row as an object. Of columns with one name the first counts, so that the text is good JSON.
fn write_rows(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), DecodeError> {
    let mut reader = Reader::new(bytes);
    out.push(b'[');
    while reader.clone().end().is_err() {
        if out.last() != Some(&b'[') {
            out.push(b',');
        }
        let columns = reader.word()?;
        let mut names = HashSet::new();
        out.push(b'{');
        for column in 0..columns {
            let name = reader.bytes()?.map(|name| String::from_utf8_lossy(name).into_owned());
            let (name, value) = (name.unwrap_or_else(|| column.to_string()), reader.bytes()?);
            if !names.insert(name.clone()) {
                continue;
            }
            member(out, &name);
            match value {
                Some(value) => write_buffer(out, &Carrier::Text, value)?,
                None => out.extend_from_slice(b"null"),
            }
        }
        out.push(b'}');
    }
    out.push(b']');
    Ok(())
}

pub(super) fn write_element(out: &mut Vec<u8>, element: Element, word: u64) {
    match (element.form, element.scalar.integer(word)) {
        (JsonForm::Boolean, _) => out.extend_from_slice(if word == 0 { b"false" } else { b"true" }),
        (JsonForm::Letter, _) => write_letter(out, word as u8),
        (JsonForm::Decimal, Some(value)) => write_display(out, format_args!("\"{value}\"")),
        (JsonForm::Number, Some(value)) => match i64::try_from(value) {
            Ok(small) => write_json(out, &small),
            Err(_) => write_display(out, format_args!("{value}")),
        },
        (JsonForm::Number | JsonForm::Decimal, None) => write_float(out, element.scalar, word),
    }
}

/// A byte of a text that is no letter by itself is told as base64, as a whole text would be.
fn write_letter(out: &mut Vec<u8>, byte: u8) {
    if byte.is_ascii() {
        write_text(out, char::from(byte).encode_utf8(&mut [0; 4]));
    } else {
        out.extend_from_slice(b"{\"base64\":");
        write_text(out, &STANDARD.encode([byte]));
        out.extend_from_slice(b",\"reason\":\"not UTF-8\"}");
    }
}

fn write_float(out: &mut Vec<u8>, scalar: Scalar, word: u64) {
    debug_assert_eq!(scalar.class(), Class::Float);
    let value = float(scalar, word);
    if value.is_nan() {
        out.extend_from_slice(b"\"NaN\"");
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"\"Infinity\"" } else { b"\"-Infinity\"" });
    } else if scalar == Scalar::Float {
        write_json(out, &f32::from_bits(word as u32));
    } else {
        write_json(out, &value);
    }
}

fn write_errno(out: &mut Vec<u8>, errno: i32) {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    member(out, "errno");
    write_display(out, format_args!("{{\"number\":{errno},\"text\":"));
    write_text(out, text);
    out.push(b'}');
}

pub(super) fn write_text(out: &mut Vec<u8>, text: &str) {
    write_json(out, text);
}

fn write_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("numbers and texts are always writable");
}

fn write_display(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes everything");
}
