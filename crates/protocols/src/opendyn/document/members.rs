//! Members of an object, read with a fault where one is not what it should be. `null` counts as absent.

use serde_json::{Map, Value};
use toolmux_core::arguments::kind_of;
use toolmux_core::nearest::nearest;

use crate::documents::fault::{Faults, Path, Weight};

/// An object of the document and where it is.
#[derive(Clone, Copy)]
pub(super) struct Members<'v, 'p> {
    pub(super) map: &'v Map<String, Value>,
    pub(super) at: &'p Path<'p>,
}

impl<'v, 'p> Members<'v, 'p> {
    pub(super) fn of(value: &'v Value, at: &'p Path<'p>, faults: &mut Faults) -> Option<Self> {
        let map = value.as_object();
        if map.is_none() {
            faults.fatal(at, format!("must be an object, not {}", kind_of(value)), "write `{…}`");
        }
        map.map(|map| Members { map, at })
    }

    /// Refuses a member that is likely a known one misspelt: read as something else, `isin` would turn an output into an
    /// input. Other members are extensions of somebody else.
    pub(super) fn check_known(&self, known: &[&str], faults: &mut Faults) {
        let is_foreign = |name: &&String| !known.contains(&name.as_str()) && !name.starts_with("x-");
        for name in self.map.keys().filter(is_foreign) {
            let same = known.iter().copied().find(|known| known.eq_ignore_ascii_case(name));
            if let Some(meant) = same.or_else(|| nearest(name, known.iter().copied())) {
                let what = format!("there is no member `{name}` here");
                faults.fatal(&self.at.member(name), what, format!("did you mean `{meant}`?"));
            }
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'v Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// A text that may be absent.
    pub(super) fn text(&self, name: &str, faults: &mut Faults) -> Option<String> {
        match self.get(name)? {
            Value::String(text) => Some(text.clone()),
            other => {
                let what = format!("`{name}` must be a string, not {}", kind_of(other));
                faults.fatal(&self.at.member(name), what, "put it in quotes");
                None
            }
        }
    }

    /// A text that should be there.
    pub(super) fn needed(&self, name: &str, weight: Weight, faults: &mut Faults) -> Option<String> {
        if self.get(name).is_none() {
            faults.missing(self.at, name, weight, &format!("add `\"{name}\": \"…\"`"));
            return None;
        }
        self.text(name, faults)
    }

    /// A switch that may be absent.
    pub(super) fn switch(&self, name: &str, faults: &mut Faults) -> Option<bool> {
        match self.get(name)? {
            Value::Bool(switch) => Some(*switch),
            other => {
                let what = format!("`{name}` must be true or false, not {}", kind_of(other));
                faults.fatal(&self.at.member(name), what, "write `true` or `false`");
                None
            }
        }
    }

    /// A count that may be absent.
    pub(super) fn count(&self, name: &str, faults: &mut Faults) -> Option<u64> {
        let value = self.get(name)?;
        if value.as_u64().is_none() {
            let what = format!("`{name}` must be a whole number from 0 up, not {value}");
            faults.fatal(&self.at.member(name), what, "write a number such as `16`");
        }
        value.as_u64()
    }
}

/// The members that each object of a document may have, extensions of this reader included.
pub(super) mod known {
    pub(in crate::opendyn::document) const DOCUMENT: &[&str] =
        &["opendyn", "info", "functions", "schemas", "structures", "code", "undecided"];
    pub(in crate::opendyn::document) const INFO: &[&str] =
        &["title", "description", "version", "callingConvention"];
    pub(in crate::opendyn::document) const FUNCTION: &[&str] = &[
        "name",
        "description",
        "parameters",
        "return",
        "symbol",
        "variable",
        "fixedParameters",
        "errno",
        "errorMessage",
        "timeoutMs",
        "review",
    ];
    pub(in crate::opendyn::document) const PARAMETER: &[&str] =
        &["name", "description", "schema", "isIn", "isOut", "required", "guess"];
    pub(in crate::opendyn::document) const RETURN: &[&str] =
        &["name", "description", "schema", "success", "guess"];
    pub(in crate::opendyn::document) const SCHEMA: &[&str] = &[
        "type",
        "description",
        "cType",
        "const",
        "default",
        "minimum",
        "maximum",
        "names",
        "flags",
        "nullable",
        "$ref",
    ];
    pub(in crate::opendyn::document) const C_TYPE: &[&str] = &[
        "type",
        "isPointer",
        "isIn",
        "size",
        "lengthOf",
        "lengthFrom",
        "endOf",
        "startOf",
        "encoding",
        "free",
        "indirect",
        "handle",
        "closes",
        "callback",
        "structure",
        "texts",
        "keptBy",
    ];
    pub(in crate::opendyn::document) const ERROR_MESSAGE: &[&str] = &["symbol", "of", "indirect"];
    pub(in crate::opendyn::document) const STRUCTURE: &[&str] = &["size", "union", "fields", "description"];
    pub(in crate::opendyn::document) const FIELD: &[&str] = &[
        "name",
        "description",
        "offset",
        "type",
        "structure",
        "isPointer",
        "count",
        "size",
        "encoding",
        "bits",
        "shift",
        "names",
    ];
    pub(in crate::opendyn::document) const CALLBACK: &[&str] =
        &["parameters", "returns", "full", "of", "compare"];
    pub(in crate::opendyn::document) const CALLBACK_PARAMETER: &[&str] =
        &["name", "type", "isPointer", "size", "texts", "hidden"];
}
