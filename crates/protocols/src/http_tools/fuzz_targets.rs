//! Invariants of GraphQL documents.

use super::graphql::read;
use crate::fuzz_targets::{Target, examples};

pub(crate) const TARGETS: &[Target] = &[("graphql_operation", operation_examples, operation)];

fn operation_examples() -> Vec<Vec<u8>> {
    examples(&[
        "query Find($id: ID!, $first: Int = 10 @deprecated(reason: \"no\") $tags: [String!]) { a(id: $id) }",
        "# comment\nfragment F on T { a } mutation($input: New! = {a: [1, \"}\"]}) { add(input: $input) { ...F } }",
        "{ viewer { login(text: \"\"\"block \"quoted\" \"\"\") } }",
    ])
}

/// The same document has the same variables; each is named in it, with a schema that compiles.
fn operation(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let (first, again) = (read(text), read(text));
    assert_eq!(format!("{first:?}"), format!("{again:?}"));
    let Ok(operation) = first else { return };
    for variable in operation.variables {
        assert!(text.contains(&variable.name), "`{}` is not in {text}", variable.name);
        assert!(variable.schema.is_object(), "{}", variable.schema);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
