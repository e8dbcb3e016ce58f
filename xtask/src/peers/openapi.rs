//! OpenAPI: documents, servers and a judge of requests that others made.

use std::time::Duration;

use crate::need::{NODE, PYTHON_VENV};
use crate::peers::Suite;

pub(super) const SUITE: Suite = Suite {
    name: "openapi",
    about: "public documents become tools; FastAPI, a Jupyter server and Prism read our requests as they were meant",
    needs: &[PYTHON_VENV, NODE],
    python: &["fastapi==0.163.0", "uvicorn==0.54.0", "python-multipart==0.0.33", "jupyter-server==2.21.1"],
    node: &[
        "@octokit/openapi@23.0.2",
        "@readme/oas-examples@8.2.2",
        "@stoplight/prism-cli@5.16.0",
        "kubernetes-client@9.0.0",
    ],
    command: &["python", "tests/peers/openapi/run.py"],
    limit: Duration::from_mins(8),
};
