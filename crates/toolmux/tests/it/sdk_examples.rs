//! The examples of the SDK, called over OXP, and what they and the guide may import.

#[expect(dead_code, reason = "`main` is for `cargo run --example`")]
#[path = "../../examples/own_source.rs"]
mod own_source;
#[expect(dead_code, reason = "`main` is for `cargo run --example`")]
#[path = "../../examples/shared_state.rs"]
mod shared_state;

use std::sync::Arc;

use serde_json::json;
use toolmux::Server;
use toolmux::oxp::Client;

use crate::sdk::returned;

#[tokio::test]
async fn a_source_written_outside_is_listed_and_called() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("greeting.txt"), "Dear {name}, {wish} {open").expect("written");
    std::fs::write(folder.path().join("notes.md"), "not a {template}").expect("written");
    let templates = own_source::Templates { folder: folder.path().to_owned() };
    let server = Server::new().listen("127.0.0.1:0").source("Templates", Arc::new(templates));
    let running = server.start().await.expect("started");
    let listed = Client::new(&running.url()).expect("an address").tools().await.expect("a list").tools;
    let [greeting] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!(greeting.id(), "Templates.greeting@1.0.0");
    assert_eq!(greeting.input.value()["required"], json!(["name", "wish"]));
    let input = json!({ "name": "{wish}", "wish": "well met" });
    assert_eq!(returned(&running, &greeting.id(), &input).await, "Dear {wish}, well met {open");
    running.stop().await;
}

#[tokio::test]
async fn tools_that_share_state_see_what_the_others_did() {
    let server = Server::new().listen("127.0.0.1:0").toolkit(shared_state::toolkit());
    let running = server.start().await.expect("started");
    let order = json!({ "item": "tea", "count": 3 });
    assert_eq!(returned(&running, "Shop.buy", &order).await, 7);
    assert_eq!(returned(&running, "Shop.buy", &order).await, 4);
    assert_eq!(returned(&running, "Shop.stock", &json!({})).await, json!({ "tea": 4 }));
    running.stop().await;
}

#[test]
fn the_guide_and_the_examples_need_no_other_crate_of_ours() {
    for (name, text) in [
        ("docs/sdk.md", include_str!("../../../../docs/sdk.md")),
        ("calculator.rs", include_str!("../../examples/calculator.rs")),
        ("own_source.rs", include_str!("../../examples/own_source.rs")),
        ("shared_state.rs", include_str!("../../examples/shared_state.rs")),
    ] {
        assert!(!text.contains("toolmux_"), "{name} names a crate that users do not depend on");
    }
}
