//! OpenTool servers and clients in the shapes of the public SDKs, which no registry has, on Python's own HTTP.

use std::time::Duration;

use crate::need::{Need, PYTHON_VENV};
use crate::peers::Suite;

const OPENSSL: Need = Need { what: "openssl", probe: &["openssl", "version"], packages: &["openssl"] };

pub(crate) const SUITE: Suite = Suite {
    name: "opentool",
    about: "servers and stream clients as the public SDKs behave, https included",
    needs: &[PYTHON_VENV, OPENSSL],
    python: &[],
    node: &[],
    command: &["python3", "tests/peers/opentool/test_opentool.py"],
    limit: Duration::from_mins(3),
};
