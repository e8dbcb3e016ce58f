//! The list of functions that OpenTool and OpenDyn documents have: one with a fatal fault costs only itself, and names
//! are given once.

use std::collections::HashSet;

use serde_json::Value;

use crate::documents::fault::{Faults, Path};

/// A reader of documents with functions.
pub(crate) trait FunctionReader<'v> {
    type Function;

    fn faults(&mut self) -> &mut Faults;

    /// Reads one function, the one at `index`, and tells its faults.
    fn read_function(&mut self, value: &'v Value, at: &Path<'_>, index: usize) -> Option<Self::Function>;

    fn name_of(function: &Self::Function) -> &str;
}

/// The functions that can be used, and the names of the others, each with the first of its fatal faults.
pub(crate) fn read_functions<'v, R: FunctionReader<'v>>(
    reader: &mut R,
    items: &'v [Value],
    at: &Path<'_>,
) -> (Vec<R::Function>, Vec<(String, String)>) {
    let (mut good, mut bad, mut names) = (Vec::new(), Vec::new(), HashSet::new());
    for (index, value) in items.iter().enumerate() {
        let (at, before) = (at.item(index), reader.faults().fatal_count());
        let read = reader.read_function(value, &at, index);
        if let Some(name) = read.as_ref().map(R::name_of)
            && !names.insert(name.to_owned())
        {
            let what = format!("there is another function `{name}`");
            reader.faults().fatal(&at.member("name"), what, "give every function a unique name");
        }
        match (read, reader.faults().words_since(before)) {
            (Some(function), None) => good.push(function),
            (_, fault) => {
                let name = value.get("name").and_then(Value::as_str).unwrap_or("?").to_owned();
                bad.push((name, fault.unwrap_or_default()));
            }
        }
    }
    (good, bad)
}
