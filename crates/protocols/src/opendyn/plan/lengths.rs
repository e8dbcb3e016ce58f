//! Sizes and lengths: from names of parameters to their indexes.

use toolmux_dylib_host::plan::{Length, Measure, Size};

use super::{Place, Planner};
use crate::opendyn::document::{self, Encoding, Flow, Form, Kind, LengthFrom, Success};

impl Planner<'_> {
    /// The size that a form gives, or nothing when it gives none.
    pub(super) fn size(&mut self, form: &Form, place: Place) -> Option<Size> {
        match form.size.as_ref()? {
            document::Size::Fixed(count) => Some(Size::Fixed(*count)),
            document::Size::Of { parameter, times, plus } => {
                let measure = self.measure(parameter, place)?;
                Some(Size::Of { measure, times: *times, plus: *plus })
            }
        }
    }

    /// What a size is computed from: the value of an integer, or how many elements an input has.
    fn measure(&mut self, name: &str, place: Place) -> Option<Measure> {
        let index = self.index_of(name, place)?;
        let parameter = &self.function.parameters[index];
        let known = match (&parameter.form.length_of, parameter.form.kind) {
            (Some(buffer), _) => {
                let of = self.index_of(buffer, place)?;
                (self.function.parameters[of].flow != Flow::Out).then_some(Measure::Count(of))
            }
            (None, Kind::Integer | Kind::Number) => {
                (parameter.flow != Flow::Out).then_some(Measure::Value(index))
            }
            (None, Kind::String | Kind::Array) => {
                (parameter.flow != Flow::Out).then_some(Measure::Count(index))
            }
            (None, Kind::Object) if parameter.form.structure.is_some() => {
                (parameter.flow != Flow::Out).then_some(Measure::Count(index))
            }
            (None, Kind::Boolean | Kind::Object) => None,
        };
        if known.is_none() {
            let what = format!("`{name}` is not an input that a size could be taken from");
            self.reject(place, what, "name an integer, a text or an array that callers give");
        }
        known
    }

    /// How much of a buffer is valid after the call.
    pub(super) fn length(&mut self, form: &Form, place: Place) -> Option<Length> {
        match &form.length_from {
            None if is_utf8_text(form) || form.encoding == Encoding::Json => Some(Length::Nul),
            None | Some(LengthFrom::All) => Some(Length::All),
            Some(LengthFrom::Nul) => Some(Length::Nul),
            Some(LengthFrom::Return) if self.returns_fit() => Some(Length::ReturnIfFits),
            Some(LengthFrom::Return) => Some(Length::Return),
            Some(LengthFrom::Parameter(name)) => self.index_of(name, place).map(Length::Parameter),
        }
    }

    /// Whether what is returned is a length only where it fits.
    pub(super) fn returns_fit(&self) -> bool {
        self.function.returns.as_ref().and_then(|returns| returns.success.as_ref()) == Some(&Success::Fits)
    }

    pub(super) fn index_of(&mut self, name: &str, place: Place) -> Option<usize> {
        let found = self.function.parameters.iter().position(|parameter| parameter.name == name);
        if found.is_none() {
            let what = format!("there is no parameter `{name}`");
            self.reject(place, what, "name one of the parameters of this function");
        }
        found
    }
}

/// Text that ends at a NUL, as opposed to bytes that may hold one.
pub(super) fn is_utf8_text(form: &Form) -> bool {
    form.kind == Kind::String && form.encoding == Encoding::Utf8 && form.scalar.is_some()
}
