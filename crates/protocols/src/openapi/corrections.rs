//! Corrections of a document: the file that `patch` names. An operation that cannot be applied is named with its line and
//! column.

use std::path::Path;

use serde_json::Value;

use crate::documents::fault::{Faults, Weight, without_bom};
use crate::documents::json_patch::apply_patch;
use crate::documents::read_document;

/// Applies the corrections in a file.
pub(super) fn correct(root: &mut Value, file: &Path) -> Result<(), String> {
    let name = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("`patch` cannot be read: `{name}`: {error}"))?;
    let patch = read_document(&text).map_err(|fault| format!("`{name}`:{fault}"))?;
    apply_patch(root, &patch).map_err(|error| {
        let mut faults = Faults::default();
        let remedy = "the patch fits another version of the document: correct the file";
        faults.found(error.place, (error.what, remedy.to_owned()), Weight::Fatal);
        let placed: Vec<String> = faults
            .placed(without_bom(&text))
            .iter()
            .map(|fault| format!("`{name}`:{fault}; {remedy}"))
            .collect();
        placed.concat()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operation_that_does_not_fit_is_named_with_its_line_and_column() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, patch: &str, expect: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, patch).unwrap();
            let why = correct(&mut json!({ "a": 1 }), &file).unwrap_err();
            assert!(why.contains(expect) && why.contains(name), "{why}");
        };
        let json =
            "[\n  { \"op\": \"remove\", \"path\": \"/a\" },\n  { \"op\": \"remove\", \"path\": \"/x\" }\n]";
        check("p.json", json, ":3:3: operation 1 of the patch: there is nothing at `/x` at `$[1]`");
        let yaml = "- op: remove\n  path: /a\n- op: remove\n  path: /x\n";
        check("p.yaml", yaml, ":3:3: operation 1 of the patch: there is nothing at `/x`");
        check("q.json", "{\"op\": \"remove\"}", ":1:1: a patch is a list of operations");
        check("r.json", "[\n{]", ":2:");
    }
}
