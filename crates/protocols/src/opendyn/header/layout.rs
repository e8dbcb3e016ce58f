//! Sizes and offsets of structures, as the ABI of 64-bit Linux lays them out.

use super::c_type::{CType, Field, Types};
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

    /// The members of a structure that are numbers, texts or arrays of them, each with its offset.
    pub(super) fn readable_fields(&self, kind: &str) -> Vec<(&Field, u64)> {
        let Some(fields) = self.structure(kind).filter(|fields| !fields.is_union && !fields.is_partial)
        else {
            return Vec::new();
        };
        let mut readable = Vec::new();
        let mut at: u64 = 0;
        for field in &fields.all {
            let Some(layout) = self.layout(&field.c) else { return Vec::new() };
            let Some(offset) = at.checked_next_multiple_of(layout.align) else { return Vec::new() };
            at = offset.saturating_add(layout.size);
            let element = match &field.c {
                CType::Array(element, Some(_)) => element,
                other => other,
            };
            if self.number(element).is_some() && !field.name.is_empty() {
                readable.push((field, offset));
            }
        }
        readable
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
        let mut whole = Layout { size: 0, align: 1 };
        for field in &fields.all {
            let field = self.layout_within(&field.c, depth + 1)?;
            whole.align = whole.align.max(field.align);
            whole.size = if fields.is_union {
                whole.size.max(field.size)
            } else {
                whole.size.checked_next_multiple_of(field.align)?.checked_add(field.size)?
            };
        }
        whole.size = whole.size.checked_next_multiple_of(whole.align)?;
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opendyn::header::c_type::Fields;

    #[test]
    fn fields_are_aligned() {
        let mut types = Types::default();
        let field = |name: &str, c| Field { name: name.to_owned(), c };
        let letters = CType::Array(Box::new(CType::Scalar("char")), Some(3));
        let all =
            vec![field("a", CType::Scalar("char")), field("b", CType::Scalar("double")), field("c", letters)];
        types.add_structure("s", Fields { all: all.clone(), ..Fields::default() });
        types.add_structure("u", Fields { all, is_union: true, ..Fields::default() });
        assert_eq!(types.layout(&types.tagged("s")).map(|layout| layout.size), Some(24));
        assert_eq!(types.layout(&types.tagged("u")).map(|layout| layout.size), Some(8));
        assert_eq!(types.layout(&types.tagged("unknown")), None);
        let offsets: Vec<u64> = types.readable_fields("s").iter().map(|(_, offset)| *offset).collect();
        assert_eq!(offsets, [0, 8, 16]);
    }
}
