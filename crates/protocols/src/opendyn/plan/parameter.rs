//! One parameter: how C gets it, and where its value comes from and goes.

use serde_json::Value;
use toolmux_dylib_host::plan::{Buffer, By, Direction, Length, Pass, Size};
use toolmux_dylib_host::scalar::{Class, Scalar};
use toolmux_dylib_host::value::{put_bytes, put_word};

use super::returns::join;
use super::{Feed, Input, Output, Place, Planned, Planner, Role};
use crate::opendyn::carrier::{Carrier, Element, Range};
use crate::opendyn::document::{Callback, Encoding, Flow, Kind, LengthFrom, NullPointer, Parameter, c_word};
use crate::opendyn::encode::encode_value;

impl Planner<'_> {
    pub(super) fn parameter(&mut self, index: usize, planned: &mut Planned) -> Option<Pass> {
        let (parameter, place) = (&self.function.parameters[index], Place::Parameter(index));
        if parameter.form.constant.is_some() {
            return self.constant(parameter, place, planned);
        }
        self.pass(parameter, place, planned)
    }

    fn pass(&mut self, parameter: &Parameter, place: Place, planned: &mut Planned) -> Option<Pass> {
        let form = &parameter.form;
        if let Some(of) = &form.length_of {
            return self.length_of(parameter, of, place, planned);
        }
        if let Some((of, by)) = &form.edge {
            let (of, by) = (self.index_of(of, place)?, *by);
            return Some(Pass::Length { of, scalar: Scalar::UnsignedLong, by });
        }
        if let Some(tag) = &form.handle {
            return self.handle(parameter, tag, place, planned);
        }
        match &form.callback {
            Some(Callback::Rows) => return self.rows(parameter, place, planned),
            Some(callback) => return self.callback(parameter, callback, place, planned),
            None => {}
        }
        if form.texts {
            return self.texts(parameter, place, planned);
        }
        if let Some(layout) = &form.structure {
            return self.structures(parameter, layout, place, planned);
        }
        if form.indirect {
            return self.indirect(parameter, place, planned);
        }
        if form.pointer {
            return self.buffer(parameter, place, planned);
        }
        let Some(scalar) = form.scalar else {
            let what = "a parameter cannot be `void`";
            self.reject(place, what, "set `cType.isPointer` to true, or leave the parameter out");
            return None;
        };
        let element = self.element(form, scalar, place)?;
        if parameter.flow == Flow::In {
            self.input(parameter, Carrier::Word(element), place, planned)?;
            return Some(Pass::Value(scalar));
        }
        let what = "an output is a pointer";
        self.warn(place, what, "set `cType.isPointer` to true");
        self.one(parameter, element, place, planned)
    }

    fn buffer(&mut self, parameter: &Parameter, place: Place, planned: &mut Planned) -> Option<Pass> {
        let form = &parameter.form;
        let (element, carrier) = self.pointed(form, place)?;
        if let Carrier::One(one) = carrier {
            return self.one(parameter, one, place, planned);
        }
        let size = self.size(form, place);
        if parameter.flow == Flow::Out && size.is_none() {
            let what = "nothing says how large the output buffer must be";
            self.reject_legal(place, what, "add `cType.size`");
            return None;
        }
        let bound = size.is_some() || self.is_measured(&parameter.name);
        if form.kind == Kind::Array && parameter.flow == Flow::In && !bound {
            let what = "nothing tells the function how many elements there are";
            self.warn(place, what, "add `lengthOf` to the parameter that holds the count, or `size` here");
        }
        let terminated = form.kind == Kind::String && form.encoding == Encoding::Utf8;
        let length = self.length(form, place)?;
        if let Some(object) = &form.kept_by {
            let of = self.kept_for(parameter, object, place)?;
            self.input(parameter, carrier, place, planned)?;
            return Some(Pass::Kept { element, terminated, of });
        }
        let buffer = Buffer { element, direction: direction(parameter.flow), terminated, size, length };
        self.flows(parameter, carrier, place, planned)?;
        if let Some(output) = planned.outputs.last_mut().filter(|_| length == Length::ReturnIfFits) {
            (output.must_fit, output.nullable) = (true, true);
        }
        Some(Pass::Buffer(buffer))
    }

    /// A pointer to one element.
    fn one(
        &mut self,
        parameter: &Parameter,
        one: Element,
        place: Place,
        planned: &mut Planned,
    ) -> Option<Pass> {
        let size = (parameter.flow == Flow::Out).then_some(Size::Fixed(1));
        self.flows(parameter, Carrier::One(one), place, planned)?;
        let (element, direction) = (one.scalar, direction(parameter.flow));
        Some(Pass::Buffer(Buffer { element, direction, terminated: false, size, length: Length::All }))
    }

    pub(super) fn flows(
        &mut self,
        parameter: &Parameter,
        carrier: Carrier,
        place: Place,
        planned: &mut Planned,
    ) -> Option<()> {
        if parameter.flow != Flow::In {
            planned.outputs.push(output(parameter, carrier.clone(), parameter.flow == Flow::InOut));
        }
        if parameter.flow != Flow::Out {
            self.input(parameter, carrier, place, planned)?;
        }
        Some(())
    }

    fn indirect(&mut self, parameter: &Parameter, place: Place, planned: &mut Planned) -> Option<Pass> {
        if parameter.flow != Flow::Out || !parameter.form.pointer {
            let what = "`indirect` is for outputs that are pointers";
            self.reject(place, what, "set `isIn` to false and `cType.isPointer` to true");
            return None;
        }
        let (pointee, carrier) = self.pointee(&parameter.form, place)?;
        planned.outputs.push(output(parameter, carrier, true));
        Some(Pass::Indirect(pointee))
    }

    fn rows(&mut self, parameter: &Parameter, place: Place, planned: &mut Planned) -> Option<Pass> {
        if parameter.flow != Flow::Out || parameter.form.kind != Kind::Array {
            let what = "a callback that collects rows is an output, and an array";
            self.reject(place, what, "set `isIn` to false and `type` to `array`");
            return None;
        }
        planned.outputs.push(output(parameter, Carrier::Rows, false));
        Some(Pass::Rows)
    }

    fn handle(
        &mut self,
        parameter: &Parameter,
        tag: &str,
        place: Place,
        planned: &mut Planned,
    ) -> Option<Pass> {
        self.check_handle(&parameter.form, place);
        let (tag, carrier) = (tag.to_owned(), Carrier::Handle(tag.to_owned()));
        match parameter.flow {
            Flow::In => {
                self.input(parameter, carrier, place, planned)?;
                Some(Pass::Handle { tag, closes: parameter.form.closes })
            }
            Flow::Out => {
                planned.outputs.push(output(parameter, carrier, true));
                Some(Pass::NewHandle { tag })
            }
            Flow::InOut => {
                let what = "a handle is either taken or given";
                self.reject(place, what, "remove `isOut`, or set `isIn` to false");
                None
            }
        }
    }

    /// A length that we fill in. Callers see it only when no buffer is cut by it.
    fn length_of(
        &mut self,
        parameter: &Parameter,
        of: &str,
        place: Place,
        planned: &mut Planned,
    ) -> Option<Pass> {
        let form = &parameter.form;
        let scalar = form.scalar.filter(|scalar| matches!(scalar.class(), Class::Signed | Class::Unsigned));
        let Some(scalar) = scalar else {
            let what = format!("a length cannot be a `{}`", c_word(form.scalar));
            self.reject(place, what, "use an integer type");
            return None;
        };
        let of = self.index_of(of, place)?;
        let by = if form.pointer || parameter.flow != Flow::In { By::Pointer } else { By::Value };
        if by == By::Pointer {
            let element = self.element(form, scalar, place)?;
            let mut output = output(parameter, Carrier::One(element), false);
            let cuts = |other: &Parameter| {
                other.form.length_from.as_ref().is_some_and(|from| match from {
                    LengthFrom::Parameter(name) => *name == parameter.name,
                    LengthFrom::Nul | LengthFrom::All | LengthFrom::Return => false,
                })
            };
            if self.function.parameters.iter().any(cuts) {
                output.name = None;
            }
            planned.outputs.push(output);
        }
        Some(Pass::Length { of, scalar, by })
    }

    fn constant(&mut self, parameter: &Parameter, place: Place, planned: &mut Planned) -> Option<Pass> {
        let form = &parameter.form;
        let constant = form.constant.as_ref()?;
        if parameter.flow != Flow::In {
            self.reject(place, "only an input can be fixed by `const`", "remove `const`");
            return None;
        }
        if constant.is_null() && form.pointer {
            let mut bytes = Vec::new();
            put_bytes(&mut bytes, None).ok()?;
            planned.feeds.push(Feed::Fixed(bytes));
            return Some(Pass::Buffer(Buffer {
                element: form.scalar.unwrap_or(Scalar::UnsignedChar),
                direction: Direction::In,
                terminated: false,
                size: None,
                length: Length::All,
            }));
        }
        let pass = self.pass(parameter, place, planned)?;
        let (input, _) = (planned.inputs.pop()?, planned.feeds.pop()?);
        let bytes = self.bytes(parameter, &input.carrier, constant, place)?;
        planned.feeds.push(Feed::Fixed(bytes));
        Some(pass)
    }

    pub(super) fn input(
        &mut self,
        parameter: &Parameter,
        carrier: Carrier,
        place: Place,
        planned: &mut Planned,
    ) -> Option<()> {
        let pointer = !matches!(carrier, Carrier::Word(_));
        let default = parameter.form.default.clone().filter(|default| !default.is_null());
        let absent = match &default {
            Some(default) => Some(self.bytes(parameter, &carrier, default, place)?),
            None if parameter.required => None,
            None => {
                if !pointer {
                    let what = "an argument that is left out becomes 0";
                    self.warn(place, what, "add `default`, or set `required` to true");
                }
                Some(nothing(&carrier))
            }
        };
        planned.feeds.push(Feed::Input(planned.inputs.len()));
        planned.inputs.push(Input {
            name: parameter.name.clone(),
            description: join(parameter.description.as_deref(), parameter.form.description.as_deref()),
            nullable: pointer && (!parameter.required || parameter.form.null == NullPointer::Allowed),
            names: parameter.form.names.clone(),
            closes: parameter.form.handle.is_some() && parameter.form.closes,
            carrier,
            absent,
            default,
        });
        Some(())
    }

    fn bytes(
        &mut self,
        parameter: &Parameter,
        carrier: &Carrier,
        value: &Value,
        place: Place,
    ) -> Option<Vec<u8>> {
        match encode_value(carrier, parameter.form.names.as_deref(), &value.to_string()) {
            Ok(bytes) => Some(bytes),
            Err(message) => {
                let what = format!("the value {value} {message}");
                self.reject(place, what, "give a value that fits the C type");
                None
            }
        }
    }

    /// Whether another parameter holds the length of this one.
    fn is_measured(&self, name: &str) -> bool {
        self.function.parameters.iter().any(|other| other.form.length_of.as_deref() == Some(name))
    }
}

pub(super) fn direction(flow: Flow) -> Direction {
    match flow {
        Flow::In => Direction::In,
        Flow::Out => Direction::Out,
        Flow::InOut => Direction::InOut,
    }
}

pub(super) fn output(parameter: &Parameter, carrier: Carrier, nullable: bool) -> Output {
    Output {
        name: Some(parameter.name.clone()),
        description: join(parameter.description.as_deref(), parameter.form.description.as_deref()),
        carrier,
        nullable,
        must_fit: false,
        role: Role::Parameter,
    }
}

/// What C gets for an argument that is left out: NULL, or 0 where the range has it.
fn nothing(carrier: &Carrier) -> Vec<u8> {
    let mut bytes = Vec::new();
    match carrier {
        Carrier::Word(element) => {
            let word = match element.range {
                Range::Integer(low, high) => 0.clamp(low, high) as u64,
                Range::Float(low, high) => float_bits(element.scalar, 0.0_f64.clamp(low, high)),
            };
            put_word(&mut bytes, word);
        }
        Carrier::Handle(_) => put_word(&mut bytes, 0),
        Carrier::One(_)
        | Carrier::Many(_)
        | Carrier::Text
        | Carrier::Bytes(_)
        | Carrier::Rows
        | Carrier::Structure(_)
        | Carrier::Structures(_)
        | Carrier::Texts
        | Carrier::Json => {
            // A NULL pointer has no size that could be refused.
            put_bytes(&mut bytes, None).ok();
        }
    }
    bytes
}

fn float_bits(scalar: Scalar, value: f64) -> u64 {
    if scalar == Scalar::Float { u64::from((value as f32).to_bits()) } else { value.to_bits() }
}
