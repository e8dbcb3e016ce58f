//! The typed clients of the SDK, made of an address and a key alone.

use serde_json::json;
use toolmux::serde_json::value::to_raw_value;
use toolmux::source::Outcome;
use toolmux::{Running, Secret, Server, Toolkit, ats, opentool, oxp, tool};

async fn keyed() -> Running {
    let toolkit = Toolkit::new("Kit").tool(tool("three", "Always 3", || async { Ok(3) }));
    let server = Server::new().listen("127.0.0.1:0").key("ann", &Secret::new("k-1")).toolkit(toolkit);
    server.start().await.expect("started")
}

fn is_three(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Returned(output) if output.value.get() == "3")
}

#[tokio::test]
async fn a_client_with_the_key_calls_over_each_protocol() {
    let (running, key) = (keyed().await, Secret::new("k-1"));
    let client = oxp::Client::new(&running.url()).expect("an address").key(&key).expect("a key");
    let answered = client.call(&oxp::ToolCall::new("Kit.three", &json!({}))).await.expect("an answer");
    assert!(is_three(answered.outcome));

    let client = opentool::Client::new(&running.url()).expect("an address").key(&key).expect("a key");
    let call = opentool::FunctionCall::new("1", "Kit_three", serde_json::Map::new());
    assert_eq!(client.call(&call).await.expect("an answer").result["result"], 3);

    let client = ats::Client::new(&running.url()).expect("an address").key(&key).expect("a key");
    let arguments = to_raw_value(&json!({})).expect("JSON");
    let task = client.call("Kit_three", &arguments, None).await.expect("a task");
    let mut followed = client.follow(&task);
    let outcome = loop {
        if let Some(outcome) = followed.next().await.expect("an event").outcome() {
            break outcome;
        }
    };
    assert!(is_three(outcome));
    running.stop().await;
}

#[tokio::test]
async fn a_client_without_the_key_is_refused_over_each_protocol() {
    let running = keyed().await;
    let url = running.url();
    assert!(oxp::Client::new(&url).expect("an address").tools().await.is_err());
    assert!(opentool::Client::new(&url).expect("an address").load().await.is_err());
    assert!(ats::Client::new(&url).expect("an address").tools(None).await.is_err());
    running.stop().await;
}

#[test]
fn what_is_no_address_or_no_key_is_said_to_be_that() {
    let (address, key) = ("http://127.0.0.1:1", Secret::new("two\nlines"));
    let error = oxp::Client::new("nowhere").expect_err("refused");
    assert_eq!(error.to_string(), "`nowhere` is not the address of an OXP server");
    let error = ats::Client::new("nowhere").expect_err("refused");
    assert_eq!(error.to_string(), "`nowhere` is not the address of an ATS server");
    let bad_keys = [
        oxp::Client::new(address).expect("an address").key(&key).expect_err("refused").to_string(),
        ats::Client::new(address).expect("an address").key(&key).expect_err("refused").to_string(),
        opentool::Client::new(address).expect("an address").key(&key).expect_err("refused").to_string(),
    ];
    for error in bad_keys {
        assert!(error.contains("the key has characters that a header cannot carry"), "{error}");
    }
}
