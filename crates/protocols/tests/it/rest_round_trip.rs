//! The document of a server, read by a source of another: the tools are the same.

use std::path::Path;

use serde_json::json;
use toolmux_core::gateway::Settings;
use toolmux_core::ports::source::Source;
use toolmux_core::tool::Tool;

use crate::openapi_api::{gateway_of, open, told};
use crate::oxp::Server;
use crate::scripted_source::Scripted;

#[tokio::test]
async fn tools_are_the_same_behind_the_document_of_another_server() {
    let server = Server::start(Settings::default(), Scripted::new()).await;
    let mut here: Vec<Tool> = Scripted::new().tools().await.expect("listed").tools;
    // The document has the newest version of each.
    here.sort_by_key(|tool| std::cmp::Reverse(tool.version));
    here.dedup_by(|old, new| old.name == new.name);
    let table = json!({ "document": format!("{}/rest/openapi.json", server.base) });
    let source = open(table, Path::new(".")).expect("opened");
    let listing = source.tools().await.expect("listed");
    assert_eq!(listing.unusable, []);
    assert!(listing.tools.len() > 20, "{}", listing.tools.len());
    for there in &listing.tools {
        let name = there.name.strip_prefix("Kit_").expect("its toolkit");
        let here = here.iter().find(|tool| tool.name.replace('.', "_") == name);
        let here = here.unwrap_or_else(|| panic!("no tool `{name}`"));
        assert_eq!(there.input.value(), here.input.value(), "{name}");
        assert_eq!(
            (&there.description, there.version, &there.returns, there.hints),
            (&here.description, here.version, &here.returns, here.hints),
            "{name}"
        );
    }
    let gateway = gateway_of(source).await;
    assert_eq!(told(&gateway, "Kit_Echo", json!({ "x": { "y": [1] } })).await, json!({ "x": { "y": [1] } }));
}
