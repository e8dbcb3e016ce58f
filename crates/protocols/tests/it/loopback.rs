//! The contract of sources, and every kind of source under it: `toolmux` runs it for C libraries, whose workers are its
//! own binary, and for toolkits of Rust functions, which are its own type.

mod apis;
mod children;
pub(crate) mod contract;
mod described;
mod remote;
mod workflows;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toolmux_core::ports::source::Source;
use toolmux_protocols::SOURCES;
use toolmux_protocols::registry::Opening;

/// Every kind of source with its test of the contract: the kind, the file below `crates`, the test. A kind with several
/// transports has a row for each.
const CHECKED: &[(&str, &str, &str)] = &[
    ("command", "protocols/tests/it/loopback/children.rs", "commands_are_a_source"),
    ("opendyn", "toolmux/tests/it/opendyn_loopback.rs", "a_c_library_is_a_source"),
    ("oxp", "protocols/tests/it/loopback/remote.rs", "an_oxp_server_is_a_source"),
    ("mcp", "protocols/tests/it/loopback/children.rs", "an_mcp_server_on_standard_streams_is_a_source"),
    ("mcp", "protocols/tests/it/loopback/remote.rs", "an_mcp_server_over_http_is_a_source"),
    ("mcp", "protocols/tests/it/loopback/remote.rs", "an_mcp_server_over_http_and_sse_is_a_source"),
    ("opentool", "protocols/tests/it/loopback/remote.rs", "an_opentool_server_is_a_source"),
    ("ats", "protocols/tests/it/loopback/remote.rs", "an_ats_server_is_a_source"),
    ("workflow", "protocols/tests/it/loopback/workflows.rs", "workflows_are_sources"),
    ("http", "protocols/tests/it/loopback/described.rs", "an_api_that_is_described_is_a_source"),
    ("openapi", "protocols/tests/it/loopback/apis.rs", "an_api_behind_a_document_is_a_source"),
    (
        "openrpc",
        "protocols/tests/it/loopback/described.rs",
        "a_json_rpc_server_that_describes_itself_is_a_source",
    ),
];

/// A source of a kind by its table.
pub(crate) fn open(kind: &str, table: Value) -> Arc<dyn Source> {
    let kind = SOURCES.iter().find(|known| known.kind == kind).expect("registered");
    let folder = std::env::temp_dir();
    let secrets = |_: &_| Err("no secrets here".to_owned());
    let opening = Opening { name: "Near", table, folder: &folder, secrets: &secrets };
    (kind.open)(&opening).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_registered_kind_is_under_the_contract() {
    let registered: BTreeSet<&str> = SOURCES.iter().map(|kind| kind.kind).collect();
    let checked: BTreeSet<&str> = CHECKED.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(registered, checked, "each kind of source has a test of the contract and a row for it");
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of crates");
    for (kind, file, test) in CHECKED {
        let text =
            std::fs::read_to_string(crates.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let begin = format!("#[tokio::test]\nasync fn {test}() {{");
        let opens = [format!("\"{kind}\""), format!("{kind}::open(")];
        assert!(text.contains(&begin), "{file} has the test `{test}`");
        assert!(opens.iter().any(|open| text.contains(open)), "{file} opens a source of kind `{kind}`");
    }
}
