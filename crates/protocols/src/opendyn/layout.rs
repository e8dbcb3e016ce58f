//! The layout of a structure as callers see it: an object whose members are at offsets.

use std::sync::Arc;

use toolmux_dylib_host::scalar::{Class, Scalar};
use toolmux_dylib_host::structure::{MemberType, PointerMember, PointerTarget, Structure};

use super::carrier::{Element, JsonForm, Range};
use super::document::{Encoding, ValueNames};

/// Bytes of a register that a structure by value is passed in.
const REGISTER: usize = 8;

/// A structure or a union.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    /// Bytes of one.
    pub(super) size: usize,
    pub(super) is_union: bool,
    pub(super) fields: Vec<LayoutField>,
}

/// A member of a structure, at its offset.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LayoutField {
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// Bytes in front of it.
    pub(super) offset: usize,
    /// How many in a row.
    pub(super) count: Option<usize>,
    pub(super) is: FieldType,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum FieldType {
    Number(Element, Option<Arc<ValueNames>>),
    /// Some bits of a number.
    Bits {
        element: Element,
        shift: u32,
        width: u32,
    },
    /// Letters in a row, which end with a NUL if there is room for one.
    Letters,
    Structure(Arc<Layout>),
    /// A pointer to a text.
    Text,
    /// A pointer to elements, with what their number is the product of.
    Elements {
        element: Element,
        encoding: Encoding,
        times: u64,
        factors: Vec<(usize, Scalar)>,
    },
}

impl Layout {
    /// As a worker needs it.
    pub(super) fn plan(&self) -> Structure {
        let mut pointers = Vec::new();
        self.add_pointers(0, &mut pointers);
        Structure { size: self.size, members: self.members(), pointers }
    }

    /// How many pointers are followed.
    pub(super) fn pointer_count(&self) -> usize {
        let mut pointers = Vec::new();
        self.add_pointers(0, &mut pointers);
        pointers.len()
    }

    /// Those of unions are left out: nobody knows which member is there.
    fn add_pointers(&self, base: usize, pointers: &mut Vec<PointerMember>) {
        if self.is_union {
            return;
        }
        for field in &self.fields {
            for index in 0..field.count.unwrap_or(1) {
                let offset = base + field.offset + index * field.is.size();
                match &field.is {
                    FieldType::Number(..) | FieldType::Bits { .. } | FieldType::Letters => {}
                    FieldType::Structure(layout) => layout.add_pointers(offset, pointers),
                    FieldType::Text => pointers.push(PointerMember { offset, target: PointerTarget::Text }),
                    FieldType::Elements { element, times, factors, .. } => {
                        let factors = factors.iter().map(|(at, scalar)| (base + at, *scalar)).collect();
                        let width = element.scalar.size();
                        let target = PointerTarget::Elements { width, times: *times, factors };
                        pointers.push(PointerMember { offset, target });
                    }
                }
            }
        }
    }

    /// What a call by value is made of.
    fn members(&self) -> Vec<MemberType> {
        if self.is_union {
            return self.union_members();
        }
        let mut end = 0;
        let mut members = Vec::new();
        for field in &self.fields {
            // Bit fields share the number that they are part of.
            if field.offset < end {
                continue;
            }
            members.extend(field.types());
            end = field.offset + field.is.size() * field.count.unwrap_or(1);
        }
        members
    }
}

impl Layout {
    /// A union is passed in registers for integers wherever one of its members is an integer.
    fn union_members(&self) -> Vec<MemberType> {
        let mut leaves = Vec::new();
        self.add_leaves(0, &mut leaves);
        let align = leaves.iter().map(|(_, scalar)| scalar.size()).max().unwrap_or(1);
        let unit = |offset: usize| {
            let is_here = |at: usize| at / REGISTER == offset / REGISTER;
            let is_whole = leaves.iter().any(|(at, scalar)| is_here(*at) && scalar.class() != Class::Float);
            MemberType::Scalar(match (align, is_whole) {
                (8, true) => Scalar::UnsignedLong,
                (8, false) => Scalar::Double,
                (4, true) => Scalar::UnsignedInt,
                (4, false) => Scalar::Float,
                (2, _) => Scalar::UnsignedShort,
                _ => Scalar::UnsignedChar,
            })
        };
        (0..self.size).step_by(align).map(unit).collect()
    }

    /// Every number in it, with its offset.
    fn add_leaves(&self, base: usize, leaves: &mut Vec<(usize, Scalar)>) {
        for field in &self.fields {
            for index in 0..field.count.unwrap_or(1) {
                let offset = base + field.offset + index * field.is.size();
                match &field.is {
                    FieldType::Structure(layout) => layout.add_leaves(offset, leaves),
                    FieldType::Number(element, _) | FieldType::Bits { element, .. } => {
                        leaves.push((offset, element.scalar));
                    }
                    FieldType::Letters => leaves.push((offset, Scalar::Char)),
                    FieldType::Text | FieldType::Elements { .. } => {
                        leaves.push((offset, Scalar::UnsignedLong));
                    }
                }
            }
        }
    }
}

impl LayoutField {
    fn types(&self) -> Vec<MemberType> {
        let one = match &self.is {
            FieldType::Number(element, _) | FieldType::Bits { element, .. } => {
                MemberType::Scalar(element.scalar)
            }
            FieldType::Letters => MemberType::Scalar(Scalar::Char),
            FieldType::Structure(layout) => MemberType::Structure(layout.members()),
            FieldType::Text | FieldType::Elements { .. } => MemberType::Scalar(Scalar::UnsignedLong),
        };
        vec![one; self.count.unwrap_or(1)]
    }
}

impl FieldType {
    /// Bytes of one.
    pub(super) fn size(&self) -> usize {
        match self {
            FieldType::Number(element, _) | FieldType::Bits { element, .. } => element.scalar.size(),
            FieldType::Letters => 1,
            FieldType::Structure(layout) => layout.size,
            FieldType::Text | FieldType::Elements { .. } => size_of::<usize>(),
        }
    }
}

impl Element {
    /// A number of a structure: the whole range of its C type.
    pub(super) fn whole(scalar: Scalar) -> Self {
        let form = if scalar == Scalar::Bool { JsonForm::Boolean } else { JsonForm::Number };
        let range = match scalar.range() {
            Some((low, high)) => Range::Integer(low, high),
            None => Range::Float(f64::NEG_INFINITY, f64::INFINITY),
        };
        Element { scalar, form, range }
    }
}
