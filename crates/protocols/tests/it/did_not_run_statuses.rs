//! What each status from 100 to 599 says of a call, by protocol. The servers here run the tool before every status by which
//! their protocol does not say that a call was not executed: a refusal that is not true is found by the run.

use toolmux_core::outcome::{Outcome, Retry};

use crate::did_not_run::{
    API, ATS, EVERY, LONG, MCP, MCP_EVENTS, MCP_SESSION, OPENRPC, OPENTOOL, OXP, check, gateway, outcome,
    table,
};
use crate::scripted_peer::{Dialect, HTML, JSON, Peer, Script, http};

/// Answers that are nothing in the protocol: their status is all that they say.
async fn check_statuses(dialect: Dialect) {
    check_statuses_with(dialect, HTML, "<p>no</p>").await;
}

async fn check_statuses_with(dialect: Dialect, kind: &str, body: &str) {
    let row = |status: u16| -> (Script, &[&str]) {
        let expect: &[&str] = match status {
            429 => &["busy"],
            status if dialect.not_executed.contains(&status) => &["refused"],
            _ => &["lost"],
        };
        (Script::answer(http(status, kind, body)), expect)
    };
    // A server of 2024-11-05 takes a message by a status of success; its answer would be on the stream.
    let silent = |status: &u16| dialect.path == "/sse" && (200..300).contains(status);
    check(dialect, (100..600).filter(|status| !silent(status)).map(row).collect()).await;
}

#[tokio::test]
async fn every_status_of_mcp_says_whether_it_ran() {
    check_statuses(MCP).await;
}

#[tokio::test]
async fn every_status_of_an_mcp_session_says_whether_it_ran() {
    check_statuses(MCP_SESSION).await;
}

#[tokio::test]
async fn every_status_of_mcp_of_2024_says_whether_it_ran() {
    check_statuses(MCP_EVENTS).await;
}

#[tokio::test]
async fn every_status_of_opentool_says_whether_it_ran() {
    check_statuses(OPENTOOL).await;
}

#[tokio::test]
async fn every_status_of_oxp_says_whether_it_ran() {
    check_statuses(OXP).await;
}

#[tokio::test]
async fn every_status_of_ats_says_whether_it_ran() {
    check_statuses(ATS).await;
    // With the document that its servers write when no task was begun.
    let not_begun = Dialect { not_executed: &[400, 401, 404, 409, 422, 503], ..ATS };
    let row = |status: u16| -> (Script, &[&str]) {
        (Script::answer(http(status, JSON, r#"{"detail":"no"}"#)), &["refused"])
    };
    check(not_begun, not_begun.not_executed.iter().map(|status| row(*status)).collect()).await;
    let others = (300..600).filter(|status| *status != 429 && !not_begun.not_executed.contains(status));
    let lost = |status| (Script::answer(http(status, JSON, r#"{"detail":"no"}"#)), ["lost"].as_slice());
    check(not_begun, others.map(lost).collect()).await;
}

#[tokio::test]
async fn every_status_of_openrpc_says_whether_it_ran() {
    check_statuses(OPENRPC).await;
}

#[tokio::test]
async fn every_status_of_an_api_is_what_its_tool_answers() {
    let row = |status: u16| -> (Script, &[&str]) {
        let expect: &[&str] = match status {
            429 => &["busy"],
            200..=299 => &["returned"],
            400..=501 | 505..=599 => &["failed"],
            _ => &["lost"],
        };
        (Script::answer(http(status, HTML, "<p>no</p>")), expect)
    };
    check(API, (100..600).map(row).collect()).await;
}

#[tokio::test]
async fn a_lost_call_names_the_time_that_its_server_asks_to_wait() {
    for dialect in [MCP, MCP_SESSION, MCP_EVENTS, OPENTOOL, OXP, ATS, OPENRPC] {
        let peer = Peer::start(dialect).await;
        let gateway = gateway(dialect.kind, table(dialect, &peer), LONG).await;
        peer.follow(Script::answer(http(503, &format!("{HTML}retry-after: 7\r\n"), "later")));
        let answer = outcome(&gateway, dialect.tool).await;
        let Ok(Outcome::Failed(error)) = answer else { panic!("{}: {answer:?}", dialect.kind) };
        let words = &error.message.public;
        assert!(words.ends_with("and asks to wait for 7s; the tool may have run"), "{words}");
        assert_eq!((error.retry, peer.ran()), (Retry::Never, 1), "{}", dialect.kind);
    }
}

#[tokio::test]
async fn a_busy_server_is_busy_for_as_long_as_it_says() {
    for dialect in EVERY {
        let answer = http(429, &format!("{HTML}retry-after: 7\r\n"), "later");
        check(dialect, vec![(Script::answer(answer), &["busy for 7 s"])]).await;
    }
}
