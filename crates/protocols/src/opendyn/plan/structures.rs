//! Parameters that are more than numbers and buffers: structures, lists of texts, callbacks, and copies that outlive the
//! call.

use std::sync::Arc;

use toolmux_dylib_host::callback::{self, CallbackAction};
use toolmux_dylib_host::plan::{CReturn, KeptFor, Length, Pass, Size};
use toolmux_dylib_host::structure::{StructurePointee, Structures, TextList};

use super::parameter::{direction, output};
use super::{Place, Planned, Planner};
use crate::opendyn::carrier::Carrier;
use crate::opendyn::document::{Callback, Flow, Form, Kind, LengthFrom, Parameter};
use crate::opendyn::layout::Layout;

impl Planner<'_> {
    /// A structure by value, or one or several by pointer.
    pub(super) fn structures(
        &mut self,
        parameter: &Parameter,
        layout: &Arc<Layout>,
        place: Place,
        planned: &mut Planned,
    ) -> Option<Pass> {
        let form = &parameter.form;
        let carrier = structure_carrier(form, layout);
        let is_one = form.kind == Kind::Object;
        if !is_one && form.kind != Kind::Array {
            self.reject(
                place,
                "a structure is an object, and several are an array",
                "set `type` to `object`",
            );
            return None;
        }
        if !form.pointer && parameter.flow == Flow::In && is_one {
            self.input(parameter, carrier, place, planned)?;
            return Some(Pass::StructureValue(layout.plan()));
        }
        let size = match self.size(form, place) {
            None if is_one && parameter.flow == Flow::Out => Some(Size::Fixed(1)),
            size => size,
        };
        if parameter.flow == Flow::Out && size.is_none() {
            let what = "nothing says how many structures there is room for";
            self.reject_legal(place, what, "add `cType.size`");
            return None;
        }
        let length = if is_one { Length::All } else { self.length(form, place)? };
        self.flows(parameter, carrier, place, planned)?;
        if let Some(output) = planned.outputs.last_mut().filter(|_| length == Length::ReturnIfFits) {
            (output.must_fit, output.nullable) = (true, true);
        }
        let direction = direction(parameter.flow);
        Some(Pass::Structures(Structures { one: layout.plan(), direction, size, length }))
    }

    /// A structure that is returned, by value or by pointer.
    pub(super) fn structure_return(&mut self, form: &Form, layout: &Layout) -> Option<CReturn> {
        if !form.pointer {
            return Some(CReturn::Structure(layout.plan()));
        }
        let is_one = form.kind == Kind::Object;
        let size = self.size(form, Place::Return).or(is_one.then_some(Size::Fixed(1)));
        let length = if is_one { Length::All } else { self.length(form, Place::Return)? };
        if size.is_none() && length == Length::All {
            let what = "nothing says how many structures the pointer leads to";
            self.reject_legal(
                Place::Return,
                what,
                "add `size`, or `lengthFrom` with the name of a parameter",
            );
            return None;
        }
        Some(CReturn::Structures(StructurePointee {
            one: layout.plan(),
            size,
            length,
            free: form.free.clone(),
        }))
    }

    /// `char **`: a list of texts, or with `indirect` one that the function makes.
    pub(super) fn texts(
        &mut self,
        parameter: &Parameter,
        place: Place,
        planned: &mut Planned,
    ) -> Option<Pass> {
        let form = &parameter.form;
        if form.kind != Kind::Array {
            self.reject(place, "texts are an array", "set `type` to `array`");
            return None;
        }
        match parameter.flow {
            Flow::In => {
                self.input(parameter, Carrier::Texts, place, planned)?;
                Some(Pass::Texts { terminated: true })
            }
            Flow::Out if form.indirect => {
                let length = self.text_count(form, place)?;
                planned.outputs.push(output(parameter, Carrier::Texts, true));
                Some(Pass::IndirectTexts(TextList { length, free: form.free.clone() }))
            }
            Flow::Out | Flow::InOut => {
                let what = "texts are read, or given through a pointer of the library";
                self.reject(place, what, "set `isIn` to true, or `cType.indirect` for `char ***`");
                None
            }
        }
    }

    /// How many texts there are.
    pub(super) fn text_count(&mut self, form: &Form, place: Place) -> Option<Length> {
        match &form.length_from {
            None | Some(LengthFrom::Nul) => Some(Length::Nul),
            Some(LengthFrom::Return) => Some(Length::Return),
            Some(LengthFrom::Parameter(name)) => self.index_of(name, place).map(Length::Parameter),
            Some(LengthFrom::All) => {
                self.reject(place, "nothing says how many texts there are", "name what holds their number");
                None
            }
        }
    }

    pub(super) fn callback(
        &mut self,
        parameter: &Parameter,
        callback: &Callback,
        place: Place,
        planned: &mut Planned,
    ) -> Option<Pass> {
        let name = parameter.name.clone();
        let (does, of) = match callback {
            Callback::Rows => return None,
            Callback::Compare(compared) => (CallbackAction::Compare(*compared), None),
            Callback::Collect { parts, returns, full, of } => {
                let (parts, returns, full) = (parts.clone(), returns.clone(), full.cast_unsigned());
                (CallbackAction::Collect { parts, returns, full }, of.as_deref())
            }
        };
        let listener = match of {
            Some(of) => Some(self.index_of(of, place)?),
            None => None,
        };
        if listener.is_none() {
            let mut told = output(parameter, Carrier::Json, false);
            if matches!(does, CallbackAction::Compare(_)) {
                told.name = None;
            }
            planned.outputs.push(told);
        }
        Some(Pass::Callback(callback::Callback { name, does, listener }))
    }

    /// The object with which an input ends that the function keeps a pointer to.
    pub(super) fn kept_for(&mut self, parameter: &Parameter, object: &str, place: Place) -> Option<KeptFor> {
        if parameter.flow != Flow::In {
            self.reject(place, "only an input is kept", "remove `keptBy`");
            return None;
        }
        match object {
            "return" => Some(KeptFor::Return),
            name => self.index_of(name, place).map(KeptFor::Parameter),
        }
    }
}

/// One structure is an object, several are an array.
pub(super) fn structure_carrier(form: &Form, layout: &Arc<Layout>) -> Carrier {
    match form.kind {
        Kind::Array => Carrier::Structures(Arc::clone(layout)),
        Kind::Boolean | Kind::Integer | Kind::Number | Kind::String | Kind::Object => {
            Carrier::Structure(Arc::clone(layout))
        }
    }
}
