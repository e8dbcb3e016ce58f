//! Sizes and offsets of structures, as the ABI of 64-bit Linux lays them out.

use serde_json::{Value, json};

use super::c_type::{CType, Field, Fields, Types};
use super::forms::add_names;
use super::words::{is_length, words};
use crate::opendyn::document::C_TYPES;

/// How deep structures are followed into each other.
const MOST_DEPTH: usize = 16;

/// The room that a value takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) size: u64,
    align: u64,
}

impl Types {
    /// The layout of a type; nothing when some of it is unknown.
    pub(super) fn layout(&self, c: &CType) -> Option<Layout> {
        self.layout_within(c, 0)
    }

    /// The members of a structure, each with its offset; of a bit field, that of the number that it is part of.
    pub(super) fn offsets(&self, kind: &str) -> Option<Vec<(&Field, u64)>> {
        let fields = self.structure(kind).filter(|fields| !fields.is_partial)?;
        let places = self.places(fields, 0)?.0;
        let unit = |place: &Place<'_>| self.layout(&place.field.c).map_or(1, |layout| layout.size);
        let offset = |place: &Place<'_>| match place.field.bits {
            Some(_) => place.bit / 8 / unit(place) * unit(place),
            None => place.bit / 8,
        };
        Some(places.iter().map(|place| (place.field, offset(place))).collect())
    }

    /// A structure as it stands in a document, without the members that cannot be read.
    pub(super) fn structure_json(&self, kind: &str) -> Option<Value> {
        let fields = self.structure(kind).filter(|fields| !fields.is_partial)?;
        let (places, layout) = self.places(fields, 0)?;
        let listed: Vec<Value> = places.iter().filter_map(|place| self.field_json(fields, place)).collect();
        let mut structure = json!({ "size": layout.size, "fields": listed });
        if fields.is_union {
            structure["union"] = true.into();
        }
        Some(structure)
    }

    fn field_json(&self, fields: &Fields, place: &Place<'_>) -> Option<Value> {
        let field = place.field;
        let (element, count) = match &field.c {
            CType::Array(element, count) => (&**element, Some((*count)?)),
            other => (other, None),
        };
        let mut listed = match element {
            CType::Opaque(kind) => {
                // A structure without a name is described in its place.
                let named = self.c_name(kind);
                let is_anonymous =
                    kind.starts_with("object") && named.starts_with(['s', 'u']) && named.contains(' ');
                let inner = if is_anonymous { self.structure_json(kind)? } else { kind.as_str().into() };
                self.structure(kind)?;
                json!({ "structure": inner })
            }
            CType::Pointer { to, .. } => pointer_json(fields, field, to, self)?,
            // An array of arrays is listed as one row.
            CType::Array(..) => return None,
            other => {
                let mut listed = json!({ "type": self.number(other)? });
                if let CType::Enum(name) = other {
                    add_names(&mut listed, self.enumeration(name).unwrap_or_default());
                }
                listed
            }
        };
        // The members of a structure without a name count as those of the one around it; they keep a name here.
        let name = if field.name.is_empty() { "members" } else { &field.name };
        if field.name.is_empty() && field.bits.is_some() {
            return None;
        }
        let size = self.layout(&field.c)?.size;
        listed["name"] = name.into();
        listed["offset"] = match field.bits {
            Some(_) => (place.bit / 8 / size * size).into(),
            None => (place.bit / 8).into(),
        };
        if let Some(count) = count {
            listed["count"] = count.into();
        }
        if let Some(bits) = field.bits {
            listed["bits"] = bits.into();
            listed["shift"] = (place.bit % (size * 8)).into();
        }
        if let Some(description) = &field.description {
            listed["description"] = description.as_str().into();
        }
        Some(listed)
    }

    /// Where the members are, in bits, and the layout of the whole.
    fn places<'f>(&self, fields: &'f Fields, depth: usize) -> Option<(Vec<Place<'f>>, Layout)> {
        let (mut places, mut align, mut bit, mut most) = (Vec::new(), 1, 0_u64, 0_u64);
        for field in &fields.all {
            let own = self.layout_within(&field.c, depth + 1)?;
            let unit = own.size.checked_mul(8)?;
            let start = if fields.is_union { 0 } else { bit };
            let (at, width) = match field.bits {
                None => (start.checked_next_multiple_of(own.align.checked_mul(8)?)?, unit),
                Some(0) => (start.checked_next_multiple_of(unit)?, 0),
                Some(bits) if start % unit + bits > unit => (start.checked_next_multiple_of(unit)?, bits),
                Some(bits) => (start, bits),
            };
            if field.bits.is_none() || !field.name.is_empty() {
                align = align.max(own.align);
            }
            places.push(Place { field, bit: at });
            bit = at.checked_add(width)?;
            most = most.max(bit);
        }
        let size = most.div_ceil(8).checked_next_multiple_of(align)?;
        Some((places, Layout { size, align }))
    }

    fn layout_within(&self, c: &CType, depth: usize) -> Option<Layout> {
        if depth > MOST_DEPTH {
            return None;
        }
        match c {
            CType::Scalar(word) => {
                let size = C_TYPES.iter().find(|(known, _)| known == word)?.1?.size() as u64;
                Some(Layout { size, align: size })
            }
            CType::Enum(_) => Some(Layout { size: 4, align: 4 }),
            CType::Pointer { .. } => Some(Layout { size: 8, align: 8 }),
            CType::Array(element, count) => {
                let element = self.layout_within(element, depth + 1)?;
                Some(Layout { size: element.size.checked_mul((*count)?)?, align: element.align })
            }
            CType::Opaque(name) => self.structure_layout(name, depth),
            CType::Void | CType::Function(_) | CType::Other(_) => None,
        }
    }

    fn structure_layout(&self, name: &str, depth: usize) -> Option<Layout> {
        let fields = self.structure(name).filter(|fields| !fields.is_partial && !fields.all.is_empty())?;
        self.places(fields, depth).map(|(_, layout)| layout)
    }
}

/// Where a member begins.
struct Place<'a> {
    field: &'a Field,
    bit: u64,
}

/// A text, or elements whose number another member holds.
fn pointer_json(fields: &Fields, field: &Field, to: &CType, types: &Types) -> Option<Value> {
    if *to == CType::Scalar("char") {
        return Some(json!({ "type": "char", "isPointer": true }));
    }
    let word = if *to == CType::Void { "unsigned char" } else { types.number(to)? };
    let is_whole = |other: &&Field| {
        other.bits.is_none()
            && matches!(types.number(&other.c), Some(word) if word.contains("int") || word.contains("long"))
    };
    let numbers: Vec<&Field> = fields.all.iter().filter(is_whole).collect();
    let named = |name: &str| numbers.iter().any(|one| one.name == name);
    let by_name = numbers.iter().find(|one| is_length(&one.name) && measures(&one.name, &field.name));
    let lengths: Vec<&&Field> = numbers.iter().filter(|one| is_length(&one.name)).collect();
    let size = match (by_name, &lengths[..]) {
        (Some(one), _) => json!(one.name),
        (None, [only]) if is_content(&field.name) => json!(only.name),
        (None, _) if is_content(&field.name) && named("width") && named("height") => {
            json!(["width", "height"])
        }
        (None, _) if is_content(&field.name) && named("width") => json!(["width", "width"]),
        (None, _) => return None,
    };
    let mut listed = json!({ "type": word, "isPointer": true, "size": size });
    if word == "unsigned char" {
        listed["encoding"] = "base64".into();
    }
    Some(listed)
}

/// Whether a pointer of that name leads to what the structure is about.
fn is_content(name: &str) -> bool {
    const NAMES: [&str; 11] =
        ["data", "buf", "buffer", "bytes", "ptr", "base", "values", "items", "content", "pixels", "samples"];
    words(name).last().is_some_and(|last| NAMES.contains(&last.as_str()))
}

/// `data_len` of `data`.
fn measures(length: &str, pointer: &str) -> bool {
    words(pointer).first().is_some_and(|first| words(length).iter().any(|word| word == first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_aligned() {
        let mut types = Types::default();
        let field = |name: &str, c| Field { name: name.to_owned(), c, bits: None, description: None };
        let letters = CType::Array(Box::new(CType::Scalar("char")), Some(3));
        let all =
            vec![field("a", CType::Scalar("char")), field("b", CType::Scalar("double")), field("c", letters)];
        types.add_structure("s", Fields { all: all.clone(), ..Fields::default() });
        types.add_structure("u", Fields { all, is_union: true, ..Fields::default() });
        assert_eq!(types.layout(&types.tagged("s")).map(|layout| layout.size), Some(24));
        assert_eq!(types.layout(&types.tagged("u")).map(|layout| layout.size), Some(8));
        assert_eq!(types.layout(&types.tagged("unknown")), None);
        let offsets: Vec<u64> =
            types.offsets("s").expect("known").iter().map(|(_, offset)| *offset).collect();
        assert_eq!(offsets, [0, 8, 16]);
    }
}
