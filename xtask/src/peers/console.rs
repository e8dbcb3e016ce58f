//! The console in Chromium: every duty as a story, forms for the schemas of real servers, attacks, accessibility.

use std::time::Duration;

use crate::need::{CHROMIUM, NODE};
use crate::peers::Suite;

pub(super) const SUITE: Suite = Suite {
    name: "console",
    about: "an operator sees, tries and steers a server in Chromium; axe-core finds nothing serious",
    needs: &[NODE, CHROMIUM],
    python: &[],
    node: &[
        "playwright-core@1.65.0",
        "axe-core@4.14.0",
        "@modelcontextprotocol/server-everything@2026.8.31",
        "@modelcontextprotocol/server-filesystem@2026.8.31",
        "@modelcontextprotocol/server-memory@2026.8.31",
        "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
        "@modelcontextprotocol/server-github@2025.4.8",
        "@playwright/mcp@0.0.83",
    ],
    command: &["node", "tests/peers/console/console.mjs"],
    limit: Duration::from_mins(10),
};

/// Writes `docs/console.png`; run by `cargo xtask picture`.
pub(super) const PICTURE: Suite = Suite {
    name: "console-picture",
    about: "the picture of the console in the README",
    needs: &[NODE, CHROMIUM],
    python: &[],
    node: &["playwright-core@1.65.0"],
    command: &["node", "tests/peers/console/picture.mjs"],
    limit: Duration::from_mins(2),
};
