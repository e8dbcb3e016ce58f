//! OXP: its public Python SDK, a fuzzer over our own OpenAPI document, and a real consent in a browser.

use std::time::Duration;

use crate::need::{CHROMIUM, NODE, PYTHON_VENV};
use crate::peers::Suite;

const LIMIT: Duration = Duration::from_mins(5);

pub(super) const SDK: Suite = Suite {
    name: "oxp-sdk",
    about: "the public Python SDK lists, calls and meets every class of error",
    needs: &[PYTHON_VENV],
    python: &["oxp==0.1.1"],
    node: &[],
    command: &["python", "tests/peers/oxp/sdk.py"],
    limit: LIMIT,
};

pub(super) const FUZZ: Suite = Suite {
    name: "oxp-fuzz",
    about: "schemathesis finds no answer outside our OpenAPI document",
    needs: &[PYTHON_VENV],
    python: &["schemathesis==4.32.5"],
    node: &[],
    command: &["python", "tests/peers/oxp/fuzz.py"],
    limit: LIMIT,
};

pub(super) const CONSENT: Suite = Suite {
    name: "oxp-consent",
    about: "a user allows a token in Chromium at an OpenID provider; it is used and renewed; links of others give nothing",
    needs: &[NODE, CHROMIUM],
    python: &[],
    node: &["oidc-provider@9.13.3", "playwright-core@1.65.0"],
    command: &["node", "tests/peers/oxp/consent.mjs"],
    limit: LIMIT,
};
