//! Structures, lists of texts and items of callbacks in a RESULT.

use serde_json::value::RawValue;
use toolmux_dylib_host::scalar::Scalar;
use toolmux_dylib_host::value::Reader;

use super::carrier::{Carrier, Element};
use super::decode::{DecodeError, member, write_buffer, write_element, write_text};
use super::document::ValueNames;
use super::layout::{FieldType, Layout, LayoutField};
use super::returned::Returned;

/// Whether a pointer leads to one structure or to many.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Several {
    No,
    Yes,
}

/// The targets of the pointers of structures, in their order.
struct Targets<'r, 'a> {
    reader: &'r mut Reader<'a>,
    /// Around what is written now: pointers within are not followed, nobody knows which member is there.
    unions: usize,
}

/// Structures and what their pointers lead to, as one object or an array of them.
pub(super) fn write_structures(
    out: &mut Vec<u8>,
    layout: &Layout,
    several: Several,
    reader: &mut Reader<'_>,
) -> Result<Returned, DecodeError> {
    let Some(bytes) = reader.bytes()? else {
        out.extend_from_slice(b"null");
        return Ok(Returned::Null);
    };
    let is_whole =
        bytes.len().is_multiple_of(layout.size) && (several == Several::Yes || bytes.len() == layout.size);
    if !is_whole {
        return Err(DecodeError::Elements(bytes.len(), layout.size));
    }
    let mut targets = Targets { reader, unions: 0 };
    if several == Several::Yes {
        out.push(b'[');
    }
    for (index, structure) in bytes.chunks_exact(layout.size).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_structure(out, layout, structure, &mut targets)?;
    }
    if several == Several::Yes {
        out.push(b']');
    }
    Ok(Returned::Pointer)
}

fn write_structure(
    out: &mut Vec<u8>,
    layout: &Layout,
    bytes: &[u8],
    targets: &mut Targets<'_, '_>,
) -> Result<(), DecodeError> {
    out.push(b'{');
    targets.unions += usize::from(layout.is_union);
    for field in &layout.fields {
        let is_pointer = matches!(field.is, FieldType::Text | FieldType::Elements { .. });
        if targets.unions > 0 && is_pointer {
            continue;
        }
        member(out, &field.name);
        let rest = bytes.get(field.offset..).ok_or(DecodeError::Elements(bytes.len(), field.offset))?;
        match field.count {
            Some(count) if matches!(field.is, FieldType::Letters) => {
                let letters = rest.get(..count).ok_or(DecodeError::Elements(rest.len(), count))?;
                let end = letters.iter().position(|byte| *byte == 0).unwrap_or(count);
                write_buffer(out, &Carrier::Text, &letters[..end])?;
            }
            Some(count) => {
                out.push(b'[');
                for index in 0..count {
                    if index > 0 {
                        out.push(b',');
                    }
                    write_field(
                        out,
                        field,
                        rest.get(index * field.is.size()..).unwrap_or_default(),
                        targets,
                    )?;
                }
                out.push(b']');
            }
            None => write_field(out, field, rest, targets)?,
        }
    }
    targets.unions -= usize::from(layout.is_union);
    out.push(b'}');
    Ok(())
}

fn write_field(
    out: &mut Vec<u8>,
    field: &LayoutField,
    rest: &[u8],
    targets: &mut Targets<'_, '_>,
) -> Result<(), DecodeError> {
    let size = field.is.size();
    let bytes = rest.get(..size).ok_or(DecodeError::Elements(rest.len(), size))?;
    match &field.is {
        FieldType::Number(element, names) => write_number(out, *element, names.as_deref(), bytes),
        FieldType::Bits { element, shift, width } => {
            let bits = element.scalar.read(bytes) >> shift;
            let unused = 64 - width;
            let word = if element.scalar.range().is_some_and(|(low, _)| low < 0) {
                ((bits << unused).cast_signed() >> unused).cast_unsigned()
            } else {
                bits << unused >> unused
            };
            write_element(out, *element, word);
        }
        FieldType::Letters => write_buffer(out, &Carrier::Text, bytes)?,
        FieldType::Structure(layout) => write_structure(out, layout, bytes, targets)?,
        FieldType::Text => match targets.reader.bytes()? {
            Some(text) => write_buffer(out, &Carrier::Text, text)?,
            None => out.extend_from_slice(b"null"),
        },
        FieldType::Elements { element, encoding, .. } => match targets.reader.bytes()? {
            Some(bytes) if matches!(element.scalar, Scalar::Char | Scalar::UnsignedChar) => {
                write_buffer(out, &Carrier::Bytes(*encoding), bytes)?;
            }
            Some(bytes) => write_buffer(out, &Carrier::Many(*element), bytes)?,
            None => out.extend_from_slice(b"null"),
        },
    }
    Ok(())
}

/// A number, by its name where it has one.
fn write_number(out: &mut Vec<u8>, element: Element, names: Option<&ValueNames>, bytes: &[u8]) {
    let word = element.scalar.read(bytes);
    let value = element.scalar.integer(word);
    let is_it = |(_, known): &&(String, i64)| Some(i128::from(*known)) == value;
    match names.filter(|names| !names.flags).and_then(|names| names.values.iter().find(is_it)) {
        Some((name, _)) => write_text(out, name),
        None => write_element(out, element, word),
    }
}

/// Bytes that hold the bytes of each text.
pub(super) fn write_texts(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), DecodeError> {
    let mut reader = Reader::new(bytes);
    out.push(b'[');
    while reader.clone().end().is_err() {
        if out.last() != Some(&b'[') {
            out.push(b',');
        }
        match reader.bytes()? {
            Some(text) => write_buffer(out, &Carrier::Text, text)?,
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b']');
    Ok(())
}

/// JSON that a worker wrote; it is read before it is believed.
pub(super) fn write_known_json(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), DecodeError> {
    let json: &RawValue = serde_json::from_slice(bytes)?;
    out.extend_from_slice(json.get().as_bytes());
    Ok(())
}
