//! Prints what may stand in a configuration, as JSON Schema: `cargo xtask reference` makes the manual of it.

use serde_json::{Map, Value, json};
use toolmux::config::Raw;
use toolmux_protocols::SOURCES;

fn main() {
    let sources: Map<String, Value> =
        SOURCES.iter().map(|source| (source.kind.to_owned(), (source.settings)().to_value())).collect();
    println!("{}", json!({ "file": schemars::schema_for!(Raw), "sources": sources }));
}
