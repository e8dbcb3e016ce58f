//! What a function returns.

use toolmux_dylib_host::plan::{CReturn, Length, Pointee, Size};
use toolmux_dylib_host::scalar::Scalar;
use toolmux_dylib_host::structure::TextList;

use super::structures::structure_carrier;
use super::{Output, Place, Planner, Role};
use crate::opendyn::carrier::{Carrier, Element, is_letter};
use crate::opendyn::document::{self, Encoding, Form, Kind, LengthFrom, c_word};

impl Planner<'_> {
    /// The C side of the return and, unless it is `void`, what becomes of it.
    pub(super) fn returns(&mut self) -> Option<(CReturn, Option<Output>)> {
        let Some(returns) = &self.function.returns else { return Some((CReturn::Void, None)) };
        let form = &returns.form;
        if form.length_from == Some(LengthFrom::Return) {
            let what = "the length of a returned pointer cannot be the return itself";
            self.reject(Place::Return, what, "name the parameter that holds the length");
            return None;
        }
        let output = |carrier, nullable| {
            Some(Output {
                name: Some(returns.name.clone()),
                description: described(returns),
                carrier,
                nullable,
                must_fit: false,
                role: Role::Return,
            })
        };
        if let Some(tag) = &form.handle {
            self.check_handle(form, Place::Return);
            return Some((CReturn::Handle { tag: tag.clone() }, output(Carrier::Handle(tag.clone()), true)));
        }
        if form.texts {
            let length = self.text_count(form, Place::Return)?;
            let list = TextList { length, free: form.free.clone() };
            return Some((CReturn::Texts(list), output(Carrier::Texts, true)));
        }
        if let Some(layout) = &form.structure {
            let carrier = structure_carrier(form, layout);
            return Some((self.structure_return(form, layout)?, output(carrier, form.pointer)));
        }
        if !form.pointer {
            let Some(scalar) = form.scalar else { return Some((CReturn::Void, None)) };
            let element = self.element(form, scalar, Place::Return)?;
            return Some((CReturn::Value(scalar), output(Carrier::Word(element), false)));
        }
        let (pointee, carrier) = self.pointee(form, Place::Return)?;
        Some((CReturn::Pointer(pointee), output(carrier, true)))
    }

    /// Memory of the library that a returned or an indirect pointer leads to.
    pub(super) fn pointee(&mut self, form: &Form, place: Place) -> Option<(Pointee, Carrier)> {
        let (element, carrier) = self.pointed(form, place)?;
        let free = form.free.clone();
        if matches!(carrier, Carrier::One(_)) {
            return Some((
                Pointee { element, size: Some(Size::Fixed(1)), length: Length::All, free },
                carrier,
            ));
        }
        let (size, length) = (self.size(form, place), self.length(form, place)?);
        if size.is_none() && length == Length::All {
            let what = "nothing says how many elements the pointer leads to";
            self.reject_legal(place, what, "add `size`, or `lengthFrom` with the name of a parameter");
            return None;
        }
        Some((Pointee { element, size, length, free }, carrier))
    }

    /// The element type behind a pointer, and how it looks in JSON.
    pub(super) fn pointed(&mut self, form: &Form, place: Place) -> Option<(Scalar, Carrier)> {
        let Some(scalar) = form.scalar else {
            if form.kind == Kind::String {
                return Some((Scalar::UnsignedChar, Carrier::Bytes(form.encoding)));
            }
            let remedy = "use `type: string` for bytes, `handle` for an object, or `const: null`";
            self.reject(place, format!("a `void` pointer cannot be {}", form.kind.word()), remedy);
            return None;
        };
        let carrier = match form.kind {
            Kind::String if is_letter(scalar) => match (form.encoding, scalar) {
                (Encoding::Utf8, Scalar::Char) => Carrier::Text,
                (Encoding::Json, _) => Carrier::Json,
                (encoding, _) => Carrier::Bytes(encoding),
            },
            Kind::Array if form.encoding == Encoding::Json && is_letter(scalar) => Carrier::Json,
            Kind::Array => Carrier::Many(self.element(form, scalar, place)?),
            Kind::Boolean | Kind::Integer | Kind::Number | Kind::String | Kind::Object => {
                Carrier::One(self.element(form, scalar, place)?)
            }
        };
        Some((scalar, carrier))
    }

    /// One number, or the fault that JSON and C contradict each other.
    pub(super) fn element(&mut self, form: &Form, scalar: Scalar, place: Place) -> Option<Element> {
        let c = c_word(Some(scalar));
        if form.kind == Kind::Array && !form.pointer {
            self.reject(place, "an array is passed by pointer", "set `cType.isPointer` to true");
            return None;
        }
        let element = Element::of(form, scalar);
        if form.kind == Kind::Object {
            let remedy = "add `cType.structure` to a structure";
            self.reject_legal(place, "C has nothing for `object`", remedy);
        } else if element.is_none() {
            let what = format!("`{}` and the C type `{c}` contradict each other", form.kind.word());
            self.reject(place, what, "let `type` follow the C type");
        } else if element.is_some_and(|element| element.range.is_empty()) {
            self.reject(place, "no value is within `minimum` and `maximum`", "widen them");
            return None;
        }
        element
    }

    pub(super) fn check_handle(&mut self, form: &Form, place: Place) {
        if !form.pointer {
            self.reject(place, "a handle is a pointer", "set `cType.isPointer` to true");
        }
        if form.kind != Kind::String {
            let what = "callers see a handle as a text";
            self.warn(place, what, "write `\"type\": \"string\"`");
        }
    }
}

fn described(returns: &document::Return) -> Option<String> {
    join(returns.description.as_deref(), returns.form.description.as_deref())
}

/// Two descriptions of one thing as one.
pub(super) fn join(over: Option<&str>, own: Option<&str>) -> Option<String> {
    match (over.filter(|text| !text.is_empty()), own.filter(|text| !text.is_empty())) {
        (Some(over), Some(own)) if over != own => Some(format!("{over}\n{own}")),
        (over, own) => over.or(own).map(str::to_owned),
    }
}
