//! REST: public validators of OpenAPI read the document that we serve, and a public client calls by it.

use std::time::Duration;

use crate::need::{NODE, PYTHON_VENV};
use crate::peers::Suite;

pub(super) const SUITE: Suite = Suite {
    name: "rest",
    about: "validators of OpenAPI accept our document, and schemathesis finds no answer outside of it",
    needs: &[PYTHON_VENV, NODE],
    python: &["openapi-spec-validator==0.9.0", "schemathesis==4.32.5"],
    node: &["@seriousme/openapi-schema-validator@2.11.0"],
    command: &["python", "tests/peers/rest/validate.py"],
    limit: Duration::from_mins(5),
};
