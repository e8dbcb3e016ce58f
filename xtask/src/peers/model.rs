//! The model bridge against the types of the vendors' own Python SDKs.

use std::time::Duration;

use crate::need::PYTHON_VENV;
use crate::peers::Suite;

pub(super) const SUITE: Suite = Suite {
    name: "model",
    about: "what the model bridge writes fits the SDKs of Anthropic, OpenAI and Google, and what those write is read",
    needs: &[PYTHON_VENV],
    python: &["anthropic==2.8.0", "openai==3.49.0", "google-genai==3.1.0"],
    node: &[],
    command: &["python", "tests/peers/model/sdk_types.py"],
    limit: Duration::from_mins(5),
};
