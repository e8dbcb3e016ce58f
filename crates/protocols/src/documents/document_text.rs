//! The text of a document, JSON or YAML, as a value. Which of the two it is shows by its first character.

use serde_json::Value;
use toolmux_core::json_text::at_most_values;

use super::document_limits::{MOST_BYTES, MOST_VALUES};
use super::fault::{Fault, Weight, not_json, without_bom};
use super::yaml::read_yaml;

/// Reads a document within bounds. A text has one fault at most here: where reading it ended.
pub fn read_document(text: &str) -> Result<Value, Fault> {
    let text = without_bom(text);
    if text.len() > MOST_BYTES {
        return Err(too_large(format!("the document is larger than {MOST_BYTES} bytes")));
    }
    if !is_json(text) {
        return read_yaml(text);
    }
    // Before any is made: a value takes many times the memory of its text.
    if !at_most_values(text.as_bytes(), MOST_VALUES) {
        return Err(too_large(format!("the document has more than {MOST_VALUES} values")));
    }
    serde_json::from_str(text).map_err(|error| not_json(&error))
}

/// True for a text that is JSON if it is anything: YAML documents that people write do not begin with a bracket.
pub(crate) fn is_json(text: &str) -> bool {
    matches!(text.trim_start().bytes().next(), Some(b'{' | b'['))
}

fn too_large(what: String) -> Fault {
    Fault {
        path: "$".to_owned(),
        line: 1,
        column: 1,
        what,
        remedy: "give a document with fewer operations".to_owned(),
        weight: Weight::Fatal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_in_either_form_and_within_bounds() {
        for text in ["{\"a\": 1}", "\u{feff}{\"a\": 1}", " \n {\"a\":1}", "a: 1", "---\na: 1\n"] {
            assert_eq!(read_document(text).expect(text), serde_json::json!({ "a": 1 }), "{text}");
        }
        let many = format!("[{}1]", "1,".repeat(MOST_VALUES));
        assert!(read_document(&many).unwrap_err().what.contains("values"));
        let deep = "[".repeat(10_000);
        assert!(read_document(&deep).unwrap_err().what.contains("recursion limit"));
        let fault = read_document("{\n  \"a\": x }").unwrap_err();
        assert_eq!((fault.line, fault.column), (2, 8));
    }
}
