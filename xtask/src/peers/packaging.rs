//! The files of packaging/, which container engines, clusters and systemd read.

use std::time::Duration;

use crate::need::PYTHON_VENV;
use crate::peers::Suite;

pub(super) const SUITE: Suite = Suite {
    name: "packaging",
    about: "paths, flags, configurations and probes of packaging/ against the real program",
    needs: &[PYTHON_VENV],
    python: &["PyYAML==6.0.3"],
    node: &[],
    command: &["python", "tests/peers/packaging/check.py"],
    limit: Duration::from_mins(5),
};
