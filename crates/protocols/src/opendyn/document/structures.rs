//! The structures of a document: sizes and members, by name through `structures`, or in the place where they are used.

use std::sync::Arc;

use serde_json::Value;
use toolmux_dylib_host::scalar::Scalar;

use super::content::Encoding;
use super::members::{Members, known};
use super::read::Reader;
use crate::documents::fault::{Path, Weight};
use crate::opendyn::carrier::{Element, Range, is_letter};
use crate::opendyn::layout::{FieldType, Layout, LayoutField};

/// The largest structure, in bytes.
const MOST_SIZE: u64 = 1 << 20;
/// Most elements of a member.
const MOST_COUNT: u64 = 1 << 16;

/// What of a member is known by itself.
struct Bare<'v, 'p> {
    members: Members<'v, 'p>,
    name: String,
    count: Option<usize>,
}

impl<'v> Reader<'v> {
    /// The structure that a C type names or describes.
    pub(super) fn structure(&mut self, c: &Members<'v, '_>) -> Option<Arc<Layout>> {
        let value = c.get("structure")?;
        let at = c.at.member("structure");
        let Some(name) = value.as_str() else { return self.layout(value, &at).map(Arc::new) };
        if let Some(known) = self.layouts.get(name) {
            if known.is_none() {
                self.faults.fatal(
                    &at,
                    format!("the structure `{name}` cannot be used"),
                    "see its other fault",
                );
            }
            return known.clone();
        }
        let Some((name, target)) = self.structures.and_then(|all| all.get_key_value(name)) else {
            let what = format!("there is no structure `{name}` in `structures`");
            self.faults.fatal(&at, what, "describe it there, with `size` and `fields`");
            return None;
        };
        // A structure that contains itself meets this.
        self.layouts.insert(name, None);
        let root = Path::Root;
        let read = self.layout(target, &root.member("structures").member(name)).map(Arc::new);
        self.layouts.insert(name, read.clone());
        read
    }

    fn layout(&mut self, value: &'v Value, at: &Path<'_>) -> Option<Layout> {
        let members = Members::of(value, at, &mut self.faults)?;
        members.check_known(known::STRUCTURE, &mut self.faults);
        let size = members.count("size", &mut self.faults).filter(|size| (1..=MOST_SIZE).contains(size));
        let Some(size) = size else {
            let what = format!("a structure needs a `size` from 1 to {MOST_SIZE} bytes");
            self.faults.fatal(at, what, "write what `sizeof` gives");
            return None;
        };
        let is_union = members.switch("union", &mut self.faults).unwrap_or(false);
        let at = at.member("fields");
        let items = self.items(members.get("fields").unwrap_or(&Value::Null), &at)?;
        let mut layout = Layout { size: size as usize, is_union, fields: Vec::new() };
        for (index, item) in items.iter().enumerate() {
            let field = self.field(item, &at.item(index), items)?;
            if field.offset + field.is.size() * field.count.unwrap_or(1) > layout.size {
                let what = format!("`{}` is outside of the structure", field.name);
                self.faults.fatal(&at.item(index), what, "correct `offset` or `size`");
                return None;
            }
            layout.fields.push(field);
        }
        Some(layout)
    }

    fn field(&mut self, value: &'v Value, at: &Path<'_>, all: &'v [Value]) -> Option<LayoutField> {
        let members = Members::of(value, at, &mut self.faults)?;
        members.check_known(known::FIELD, &mut self.faults);
        let name = members.needed("name", Weight::Fatal, &mut self.faults)?;
        let count = members.count("count", &mut self.faults);
        let offset = members.count("offset", &mut self.faults).unwrap_or(0);
        if count.is_some_and(|count| count > MOST_COUNT) || offset > MOST_SIZE {
            self.faults.fatal(at, format!("`{name}` is too large"), "correct `count` or `offset`");
            return None;
        }
        let (offset, count) = (offset as usize, count.map(|count| count as usize));
        let bare = Bare { members, name, count };
        let is = self.field_type(&bare, at, all)?;
        let count = if matches!(is, FieldType::Letters) { bare.count } else { count };
        let description = members.text("description", &mut self.faults);
        Some(LayoutField { name: bare.name, description, offset, count, is })
    }

    fn field_type(&mut self, bare: &Bare<'v, '_>, at: &Path<'_>, all: &'v [Value]) -> Option<FieldType> {
        if bare.members.get("structure").is_some() {
            return self.structure(&bare.members).map(FieldType::Structure);
        }
        let scalar = self.c_type(&bare.members).ok()?;
        let is_pointer = bare.members.switch("isPointer", &mut self.faults).unwrap_or(false);
        let encoding = self.encoding(&bare.members);
        let Some(scalar) = scalar.or_else(|| is_pointer.then_some(Scalar::UnsignedChar)) else {
            self.faults.fatal(at, "a member cannot be `void`", "leave it out, or write `isPointer`");
            return None;
        };
        let element = Element::whole(scalar);
        if is_pointer {
            return match (bare.members.get("size"), scalar) {
                (Some(size), _) => {
                    let (times, factors) = self.factors(size, at, all)?;
                    Some(FieldType::Elements { element, encoding, times, factors })
                }
                (None, Scalar::Char) => Some(FieldType::Text),
                (None, _) => {
                    let what = format!("nothing says how many elements `{}` leads to", bare.name);
                    self.faults.fatal(at, what, "add `size`: a number, or names of other members");
                    None
                }
            };
        }
        if let Some(width) = bare.members.count("bits", &mut self.faults) {
            return self.bits(element, width, &bare.members);
        }
        if bare.count.is_some() && is_letter(scalar) && scalar == Scalar::Char && encoding == Encoding::Utf8 {
            return Some(FieldType::Letters);
        }
        Some(FieldType::Number(element, self.names(&bare.members)))
    }

    fn bits(&mut self, element: Element, width: u64, members: &Members<'v, '_>) -> Option<FieldType> {
        let shift = members.count("shift", &mut self.faults).unwrap_or(0);
        let room = element.scalar.size() as u64 * 8;
        if width == 0 || shift.saturating_add(width) > room || element.scalar.range().is_none() {
            let what = "`bits` and `shift` do not fit the type";
            self.faults.fatal(members.at, what, "let them be within the bits of an integer type");
            return None;
        }
        let signed = element.scalar.range().is_some_and(|(low, _)| low < 0);
        let range = if signed {
            Range::Integer(-(1_i128 << (width - 1)), (1_i128 << (width - 1)) - 1)
        } else {
            Range::Integer(0, (1_i128 << width) - 1)
        };
        let element = Element { range, ..element };
        Some(FieldType::Bits { element, shift: shift as u32, width: width as u32 })
    }

    /// `16`, `"count"`, or `["width", "height", 4]`: numbers and members that are multiplied.
    fn factors(
        &mut self,
        size: &'v Value,
        at: &Path<'_>,
        all: &'v [Value],
    ) -> Option<(u64, Vec<(usize, Scalar)>)> {
        let list = size.as_array().map_or_else(|| std::slice::from_ref(size), Vec::as_slice);
        let (mut times, mut factors) = (1_u64, Vec::new());
        for factor in list {
            let member = factor.as_str().and_then(|name| all.iter().find(|one| one["name"] == name));
            let found = member.and_then(|member| {
                let word = member["type"].as_str()?;
                let (_, scalar) = super::C_TYPES.iter().find(|(known, _)| *known == word)?;
                Some((member["offset"].as_u64().unwrap_or(0) as usize, (*scalar)?))
            });
            match (factor.as_u64(), found) {
                (Some(number), _) => times = times.saturating_mul(number),
                (None, Some(found)) => factors.push(found),
                (None, None) => {
                    let what = format!("{factor} is neither a number nor a member of the structure");
                    self.faults.fatal(&at.member("size"), what, "name an integer member, or write a number");
                    return None;
                }
            }
        }
        Some((times, factors))
    }
}
