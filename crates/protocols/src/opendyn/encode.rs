//! Arguments as JSON text into the bytes of a CALL, in one pass driven by the plan. Repeated, unknown and
//! missing arguments are refused here too, so that what C sees never depends on who checked before.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use toolmux_core::refusal::ParameterError;
use toolmux_dylib_host::plan::MAX_PARAMETERS;

use super::carrier::Carrier;
use super::document::ValueNames;
use super::encode_element::CarrierSeed;
use super::handles::UsedHandles;
use super::plan::{Feed, Input, Planned};

/// Where the bytes of each argument are.
type Spans = [Option<(usize, usize)>; MAX_PARAMETERS];

impl Planned {
    /// Appends the payload of CALL; `scratch` is overwritten.
    pub(super) fn encode(
        &self,
        arguments: &str,
        handles: &mut UsedHandles<'_>,
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), ParameterError> {
        scratch.clear();
        let mut spans: Spans = [None; MAX_PARAMETERS];
        let mut current = None;
        let seed =
            Arguments { planned: self, spans: &mut spans, current: &mut current, handles, out: scratch };
        let mut deserializer = serde_json::Deserializer::from_str(arguments);
        let read = seed.deserialize(&mut deserializer).and_then(|()| deserializer.end());
        read.map_err(|error| fault(current.unwrap_or_default(), &error))?;
        self.assemble(&spans, scratch, out)
    }

    /// Puts the arguments into the order of the document, and what nobody gives between them.
    fn assemble(&self, spans: &Spans, scratch: &[u8], out: &mut Vec<u8>) -> Result<(), ParameterError> {
        for feed in &self.feeds {
            let bytes = match feed {
                Feed::Fixed(bytes) => bytes,
                Feed::Input(index) => match (spans[*index], &self.inputs[*index]) {
                    (Some((start, end)), _) => &scratch[start..end],
                    (None, Input { absent: Some(bytes), .. }) => bytes,
                    (None, Input { name, .. }) => {
                        let message = "is required but missing".to_owned();
                        return Err(ParameterError { parameter: name.clone(), message });
                    }
                },
            };
            out.extend_from_slice(bytes);
        }
        Ok(())
    }
}

/// One value of JSON text as bytes; the fault is in words that follow the name of the parameter.
pub(super) fn encode_value(
    carrier: &Carrier,
    names: Option<&ValueNames>,
    json: &str,
) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(json);
    CarrierSeed { carrier, names, nullable: false, handles: None, out: &mut bytes }
        .deserialize(&mut deserializer)
        .map_err(|error| fault(String::new(), &error).message)?;
    Ok(bytes)
}

/// The words of a visitor, without the place in a text that the caller may never have seen.
fn fault(parameter: String, error: &serde_json::Error) -> ParameterError {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text);
    let message = match message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "))
    {
        Some((came, wanted)) => format!("must be {wanted}, got {came}"),
        None => message.to_owned(),
    };
    ParameterError { parameter, message }
}

struct Arguments<'a, 'h> {
    planned: &'a Planned,
    spans: &'a mut Spans,
    current: &'a mut Option<String>,
    handles: &'a mut UsedHandles<'h>,
    out: &'a mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for Arguments<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Arguments<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of arguments")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let inputs = &self.planned.inputs;
        while let Some(found) = members.next_key_seed(Name(inputs))? {
            let index = match found {
                Ok(index) => index,
                Err(unknown) => {
                    *self.current = Some(unknown);
                    return Err(A::Error::custom("is not a known parameter"));
                }
            };
            let input = &inputs[index];
            if self.spans[index].is_some() {
                *self.current = Some(input.name.clone());
                return Err(A::Error::custom("is given twice"));
            }
            let (start, known) = (self.out.len(), self.handles.count());
            let handles = Some(&mut *self.handles);
            let seed = CarrierSeed {
                carrier: &input.carrier,
                names: input.names.as_deref(),
                nullable: input.nullable,
                handles,
                out: self.out,
            };
            if let Err(error) = members.next_value_seed(seed) {
                *self.current = Some(input.name.clone());
                return Err(error);
            }
            if input.closes {
                self.handles.close_since(known);
            }
            self.spans[index] = Some((start, self.out.len()));
        }
        Ok(())
    }
}

/// The index of an input by its name, or the name that is none.
struct Name<'a>(&'a [Input]);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Result<usize, String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Result<usize, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a parameter")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|input| input.name == name).ok_or_else(|| name.to_owned()))
    }
}
