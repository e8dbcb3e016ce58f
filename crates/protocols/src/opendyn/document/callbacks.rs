//! The callbacks of a document: what a function of ours that a library calls does.

use serde_json::Value;
use toolmux_dylib_host::callback::{CallbackPart, CallbackReturn, CallbackValue, Compared};
use toolmux_dylib_host::scalar::Scalar;

use super::content::Callback;
use super::members::{Members, known};
use super::read::Reader;
use crate::documents::fault::Path;

impl<'v> Reader<'v> {
    pub(super) fn callback(&mut self, c: &Members<'v, '_>) -> Option<Callback> {
        let value = c.get("callback")?;
        let at = c.at.member("callback");
        if let Some(word) = value.as_str() {
            if word != "rows" {
                let remedy = "write `rows`, or an object with `parameters` or `compare`";
                self.faults.fatal(&at, format!("there is no callback `{word}`"), remedy);
            }
            return Some(Callback::Rows);
        }
        let members = Members::of(value, &at, &mut self.faults)?;
        members.check_known(known::CALLBACK, &mut self.faults);
        if let Some(word) = members.text("compare", &mut self.faults) {
            return self.compared(&word, &at).map(Callback::Compare);
        }
        let list_at = at.member("parameters");
        let items = self.items(members.get("parameters").unwrap_or(&Value::Null), &list_at)?;
        let mut parts = Vec::new();
        for (index, item) in items.iter().enumerate() {
            parts.push(self.callback_part(item, &list_at.item(index), items)?);
        }
        let returns = match members.get("returns") {
            None => CallbackReturn::Fixed(0),
            Some(Value::Number(number)) => {
                CallbackReturn::Fixed(number.as_i64().unwrap_or_default().cast_unsigned())
            }
            Some(names) => CallbackReturn::Product(self.argument_indexes(names, &at, items)?),
        };
        let full = members.get("full").and_then(Value::as_i64).unwrap_or(0);
        Some(Callback::Collect { parts, returns, full, of: members.text("of", &mut self.faults) })
    }

    fn compared(&mut self, word: &str, at: &Path<'_>) -> Option<Compared> {
        if word == "texts" {
            return Some(Compared::Texts);
        }
        let known = super::C_TYPES.iter().find(|(known, _)| *known == word).and_then(|(_, scalar)| *scalar);
        if known.is_none() {
            let what = format!("`{word}` cannot be compared");
            self.faults.fatal(&at.member("compare"), what, "write a C number type, or `texts`");
        }
        known.map(Compared::Number)
    }

    fn callback_part(&mut self, value: &'v Value, at: &Path<'_>, all: &'v [Value]) -> Option<CallbackPart> {
        let members = Members::of(value, at, &mut self.faults)?;
        members.check_known(known::CALLBACK_PARAMETER, &mut self.faults);
        let scalar = self.c_type(&members).ok()?;
        let is_pointer = members.switch("isPointer", &mut self.faults).unwrap_or(false);
        let texts = members.switch("texts", &mut self.faults).unwrap_or(false);
        let is = match (is_pointer, scalar, members.get("size")) {
            (true, _, Some(size)) => CallbackValue::Bytes(self.argument_indexes(size, at, all)?),
            (true, Some(Scalar::Char), None) if texts => CallbackValue::Texts,
            (true, Some(Scalar::Char), None) => CallbackValue::Text,
            (true, _, None) => CallbackValue::Pointer,
            (false, Some(scalar), _) => CallbackValue::Scalar(scalar),
            (false, None, _) => {
                self.faults.fatal(at, "a parameter cannot be `void`", "add `isPointer`, or leave it out");
                return None;
            }
        };
        let hidden = members.switch("hidden", &mut self.faults).unwrap_or(false);
        let is_told = !hidden && is != CallbackValue::Pointer;
        let name = members.text("name", &mut self.faults).filter(|_| is_told);
        Some(CallbackPart { name, is })
    }

    /// Names of parameters of the same callback, by their places.
    fn argument_indexes(&mut self, names: &'v Value, at: &Path<'_>, all: &'v [Value]) -> Option<Vec<usize>> {
        let list = names.as_array().map_or_else(|| std::slice::from_ref(names), Vec::as_slice);
        let index = |name: &Value| all.iter().position(|one| one["name"] == *name);
        let found: Option<Vec<usize>> = list.iter().map(index).collect();
        if found.is_none() {
            let what = format!("{names} are not parameters of the callback");
            self.faults.fatal(at, what, "name parameters of the same callback");
        }
        found
    }
}
