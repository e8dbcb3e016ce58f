//! The schema and the C type of a parameter or a return, through one `$ref` where there is one.

use std::sync::Arc;

use serde_json::{Number, Value};
use toolmux_dylib_host::plan::By;
use toolmux_dylib_host::scalar::Scalar;

use super::content::{C_TYPES, Encoding, Form, Kind, LengthFrom, NullPointer, Size, ValueNames};
use super::members::{Members, known};
use super::read::Reader;
use crate::documents::fault::{Path, Weight};

/// Types that the public example writes where JSON types belong.
const C_WORDS: [(&str, Kind); 5] = [
    ("double", Kind::Number),
    ("float", Kind::Number),
    ("int", Kind::Integer),
    ("long", Kind::Integer),
    ("bool", Kind::Boolean),
];

/// A fault that was told already.
pub(super) struct AlreadyReported;

impl<'v> Reader<'v> {
    /// The form in the `schema` of a parameter or a return.
    pub(super) fn form(&mut self, members: &Members<'v, '_>) -> Option<Form> {
        let Some(value) = members.get("schema") else {
            let remedy = "add `\"schema\": {\"type\": \"integer\", \"cType\": {\"type\": \"int\"}}`";
            self.faults.missing(members.at, "schema", Weight::Fatal, remedy);
            return None;
        };
        let at = members.at.member("schema");
        match value.get("$ref") {
            None => self.schema(value, &at),
            Some(reference) => {
                let root = Path::Root;
                let schemas = root.member("schemas");
                let name = reference.as_str().and_then(|text| text.strip_prefix("#/schemas/"));
                let found = name.and_then(|name| Some((name, self.schemas?.get(name)?)));
                let Some((name, target)) = found else {
                    let what = format!("nothing is at the reference {reference}");
                    self.faults.fatal(&at, what, "write `#/schemas/` and a name that is in `schemas`");
                    return None;
                };
                self.schema(target, &schemas.member(name))
            }
        }
    }

    fn schema(&mut self, value: &'v Value, at: &Path<'_>) -> Option<Form> {
        let members = Members::of(value, at, &mut self.faults)?;
        members.check_known(known::SCHEMA, &mut self.faults);
        let kind = self.kind(&members);
        let c_at = at.member("cType");
        let Some(c_value) = members.get("cType") else {
            let remedy = "add `\"cType\": {\"type\": \"int\", \"isPointer\": false}`: C cannot be guessed";
            self.faults.missing(at, "cType", Weight::Unusable, remedy);
            return None;
        };
        let c = Members::of(c_value, &c_at, &mut self.faults)?;
        c.check_known(known::C_TYPE, &mut self.faults);
        let scalar = self.c_type(&c);
        Some(Form {
            kind: kind?,
            description: members.text("description", &mut self.faults),
            scalar: scalar.ok()?,
            pointer: c.switch("isPointer", &mut self.faults).unwrap_or(false),
            size: self.size(&c),
            length_of: c.text("lengthOf", &mut self.faults),
            length_from: c.text("lengthFrom", &mut self.faults).map(LengthFrom::read),
            edge: self.edge(&c),
            encoding: self.encoding(&c),
            free: c.text("free", &mut self.faults),
            indirect: c.switch("indirect", &mut self.faults).unwrap_or(false),
            handle: self.handle(&c),
            closes: c.switch("closes", &mut self.faults).unwrap_or(false),
            callback: self.callback(&c),
            constant: members.map.get("const").cloned(),
            default: members.map.get("default").cloned(),
            minimum: self.bound(&members, "minimum"),
            maximum: self.bound(&members, "maximum"),
            names: self.names(&members),
            structure: self.structure(&c),
            texts: c.switch("texts", &mut self.faults).unwrap_or(false),
            kept_by: c.text("keptBy", &mut self.faults),
            null: match members.switch("nullable", &mut self.faults) {
                Some(true) => NullPointer::Allowed,
                Some(false) | None => NullPointer::Refused,
            },
        })
    }

    /// The buffer to whose start or end a pointer leads.
    fn edge(&mut self, c: &Members<'v, '_>) -> Option<(String, By)> {
        let end = c.text("endOf", &mut self.faults).map(|name| (name, By::End));
        end.or_else(|| c.text("startOf", &mut self.faults).map(|name| (name, By::Start)))
    }

    fn kind(&mut self, members: &Members<'v, '_>) -> Option<Kind> {
        let word = members.needed("type", Weight::Fatal, &mut self.faults)?;
        let known =
            |words: &[(&str, Kind)]| words.iter().find(|(own, _)| *own == word).map(|(_, kind)| *kind);
        if let Some(kind) = known(&Kind::WORDS) {
            return Some(kind);
        }
        let at = members.at.member("type");
        let Some(kind) = known(&C_WORDS) else {
            let remedy = "write one of boolean, integer, number, string, array";
            self.faults.fatal(&at, format!("there is no type `{word}`"), remedy);
            return None;
        };
        let what = format!("`{word}` is a C type, not a JSON type");
        self.faults.warning(&at, what, format!("write `{}`", kind.word()));
        Some(kind)
    }

    pub(super) fn c_type(&mut self, c: &Members<'v, '_>) -> Result<Option<Scalar>, AlreadyReported> {
        let word = c.needed("type", Weight::Fatal, &mut self.faults).ok_or(AlreadyReported)?;
        let found = C_TYPES.iter().find(|(known, _)| *known == word.trim()).map(|(_, scalar)| *scalar);
        if found.is_none() {
            let words: Vec<&str> = C_TYPES.iter().map(|(word, _)| *word).collect();
            let remedy = format!("write one of {}", words.join(", "));
            self.faults.fatal(&c.at.member("type"), format!("there is no C type `{word}` here"), remedy);
        }
        found.ok_or(AlreadyReported)
    }

    pub(super) fn encoding(&mut self, c: &Members<'v, '_>) -> Encoding {
        match c.text("encoding", &mut self.faults).as_deref() {
            None | Some("utf8") => Encoding::Utf8,
            Some("hex") => Encoding::Hex,
            Some("base64") => Encoding::Base64,
            Some("json") => Encoding::Json,
            Some(other) => {
                let what = format!("there is no encoding `{other}`");
                self.faults.fatal(&c.at.member("encoding"), what, "write one of utf8, hex, base64, json");
                Encoding::Utf8
            }
        }
    }

    /// The tag goes before a `#` in what a model sees.
    fn handle(&mut self, c: &Members<'v, '_>) -> Option<String> {
        let tag = c.text("handle", &mut self.faults)?;
        if tag.is_empty() || !tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            let what = format!("`{tag}` is not a valid name for a kind of handle");
            self.faults.fatal(&c.at.member("handle"), what, "use letters, digits and `_`");
        }
        Some(tag)
    }

    fn size(&mut self, c: &Members<'v, '_>) -> Option<Size> {
        let at = c.at.member("size");
        let size = match c.get("size")? {
            Value::Number(count) => count.as_u64().map(Size::Fixed),
            Value::String(name) => Some(Size::Of { parameter: name.clone(), times: 1.0, plus: 0 }),
            Value::Object(members) => members.get("param").and_then(Value::as_str).and_then(|name| {
                let times = members.get("times").map_or(Some(1.0), Value::as_f64)?;
                let plus = members.get("plus").map_or(Some(0), Value::as_i64)?;
                Some(Size::Of { parameter: name.to_owned(), times, plus })
            }),
            _ => None,
        };
        if size.is_none() {
            let remedy =
                "write a count, the name of a parameter, or `{\"param\": …, \"times\": 1, \"plus\": 0}`";
            self.faults.fatal(&at, "`size` is not a number of elements", remedy);
        }
        size
    }

    pub(super) fn names(&mut self, members: &Members<'v, '_>) -> Option<Arc<ValueNames>> {
        let at = members.at.member("names");
        let names = Members::of(members.get("names")?, &at, &mut self.faults)?;
        let mut values = Vec::new();
        for (name, value) in names.map {
            match value.as_i64() {
                Some(value) => values.push((name.clone(), value)),
                None => {
                    let what = format!("`{name}` must stand for a whole number, not {value}");
                    self.faults.fatal(&at.member(name), what, "write a number such as `16`");
                }
            }
        }
        let flags = members.switch("flags", &mut self.faults).unwrap_or(false);
        Some(Arc::new(ValueNames { values, flags }))
    }

    fn bound(&mut self, members: &Members<'v, '_>, name: &str) -> Option<Number> {
        match members.get(name)? {
            Value::Number(number) => Some(number.clone()),
            other => {
                let what = format!("`{name}` must be a number, not {other}");
                self.faults.fatal(&members.at.member(name), what, "write a number");
                None
            }
        }
    }
}

impl LengthFrom {
    fn read(text: String) -> Self {
        match text.as_str() {
            "nul" => LengthFrom::Nul,
            "all" => LengthFrom::All,
            "return" => LengthFrom::Return,
            _ => LengthFrom::Parameter(text),
        }
    }
}
