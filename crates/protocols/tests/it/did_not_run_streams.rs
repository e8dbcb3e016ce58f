//! What becomes of a call when its answer is cut: in each part of a chunked body, and in each part of a stream of events.

use serde_json::json;

use crate::did_not_run::{ATS, EVERY, MCP, MCP_EVENTS, MCP_SESSION, OPENTOOL, check, good};
use crate::scripted_peer::{Dialect, EVENTS, ID, JSON, ReceivedRequest, Script, http};

type Expect = &'static [&'static str];

const LAST_CHUNK: &str = "0\r\n\r\n";

fn chunked(kind: &str, body: &str) -> String {
    format!("HTTP/1.1 200 X\r\n{kind}transfer-encoding: chunked\r\nconnection: close\r\n\r\n{body}")
}

fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

/// A body that ends with the connection.
fn closed(kind: &str, body: &str) -> String {
    format!("HTTP/1.1 200 X\r\n{kind}connection: close\r\n\r\n{body}")
}

/// Every place where a chunked body can be cut.
fn cut_chunks(first: &str, second: &str) -> Vec<String> {
    let (one, size) = (chunk(first), format!("{:x}", first.len()));
    let both = format!("{one}{}", chunk(second));
    vec![
        String::new(),
        // In the header of a chunk, in its data, before its end.
        size.clone(),
        format!("{size}\r"),
        format!("{size}\r\n"),
        format!("{size}\r\n{}", &first[..first.len() / 2]),
        format!("{size}\r\n{first}"),
        // Between chunks, and before and in the last one.
        one,
        both.clone(),
        format!("{both}0"),
        format!("{both}0\r\n"),
        // What is not the size of a chunk.
        format!("x\r\n{first}"),
    ]
}

#[tokio::test]
async fn a_chunked_answer_may_be_cut_anywhere() {
    for dialect in EVERY {
        // A server of 2024-11-05 has taken a message with the status; its answer would be on the stream.
        if dialect.path == MCP_EVENTS.path {
            continue;
        }
        let (first, second) = dialect.good.split_at(4);
        let whole = [chunk(first), chunk(second), LAST_CHUNK.to_owned()].concat();
        let mut rows: Vec<(Script, Expect)> = vec![(Script::answer(chunked(JSON, &whole)), &["returned"])];
        let cuts = cut_chunks(first, second).into_iter();
        rows.extend(cuts.map(|cut| (Script::answer(chunked(JSON, &cut)), ["lost"].as_slice())));
        rows.push((good(dialect), &["returned"]));
        check(dialect, rows).await;
    }
}

/// An event before the answer.
const NOTE: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n";

#[tokio::test]
async fn a_stream_of_events_may_be_cut_anywhere() {
    for dialect in [MCP, MCP_SESSION] {
        let answer = format!("data: {}\n\n", dialect.good);
        let line = answer.trim_end();
        let cuts = [
            String::new(),
            // In the name of a field, in a line of data, after it and before the end of the event, between events.
            "da".to_owned(),
            "data: {\"jsonrpc\"".to_owned(),
            line.to_owned(),
            format!("{line}\n"),
            NOTE.to_owned(),
            format!("{NOTE}dat"),
            format!("{NOTE}data: {{\"jsonrpc\""),
            format!("{NOTE}{line}\n"),
        ];
        let mut rows: Vec<(Script, Expect)> = Vec::new();
        for cut in cuts {
            // By the end of the connection, by a body that is whole, in the middle of chunks.
            let answers = [closed(EVENTS, &cut), http(200, EVENTS, &cut), chunked(EVENTS, &chunk(&cut))];
            let ended = chunked(EVENTS, &[chunk(&cut), LAST_CHUNK.to_owned()].concat());
            let all = answers.into_iter().chain([ended]).filter(|_| !cut.is_empty());
            rows.extend(all.map(|answer| (Script::answer(answer), ["lost"].as_slice())));
        }
        rows.extend(
            cut_chunks(NOTE, line)
                .into_iter()
                .map(|cut| (Script::answer(chunked(EVENTS, &cut)), ["lost"].as_slice())),
        );
        // The answer is there whole; what the stream does afterwards says nothing of it.
        let whole = chunked(EVENTS, &chunk(&format!("{NOTE}{answer}")));
        rows.push((Script::answer(whole), &["returned"]));
        check(dialect, rows).await;
    }
}

#[tokio::test]
async fn the_stream_of_a_server_of_2024_may_be_cut_anywhere() {
    let answer = format!("data: {}\n\n", MCP_EVENTS.good).leak();
    let half = &answer[..answer.find(ID).expect("an id")];
    let cuts = ["", "da", half, answer.trim_end(), NOTE, ": a comment\n\n"];
    let cut = |text| Script { cut: Some(text), ..Script::answer(http(202, "", "")) };
    let mut rows: Vec<(Script, Expect)> = Vec::new();
    for text in cuts {
        // A call that comes while the stream ends may still be written to it; the next one opens another.
        rows.push((cut(text), &["lost"]));
        rows.push((good(MCP_EVENTS), &["returned"]));
    }
    rows.push((cut(answer), &["returned"]));
    check(MCP_EVENTS, rows).await;
}

/// A server whose function streams.
const OPENTOOL_STREAM: Dialect = Dialect {
    calls: "POST /opentool/streamCall",
    other: |_| {
        let part = json!({ "name": "part", "schema": { "type": "object", "properties": {} } });
        let function =
            json!({ "name": "t", "description": "d", "parameters": [], "stream": { "data": part } });
        let info = json!({ "title": "T", "version": "1.0.0" });
        http(200, JSON, &json!({ "opentool": "1.1.0", "info": info, "functions": [function] }).to_string())
    },
    ..OPENTOOL
};

#[tokio::test]
async fn the_stream_of_an_opentool_server_may_be_cut_anywhere() {
    let start = "event:start\ndata:{\"start\":\"t\"}\n\n";
    let data = format!("event:data\ndata:{}\n\n", OPENTOOL.good);
    let line = data.trim_end();
    let done = "event:done\ndata:{\"done\":\"t\"}\n\n";
    let all = format!("{start}{data}{done}");
    let mut rows: Vec<(Script, Expect)> = vec![(Script::answer(closed(EVENTS, &all)), &["returned"])];
    for cut in
        ["", "event:start\ndat", start, &format!("{start}event:data\ndata:{{"), &format!("{start}{line}")]
    {
        rows.push((Script::answer(closed(EVENTS, cut)), &["lost"]));
    }
    rows.extend(
        cut_chunks(start, &data)
            .into_iter()
            .map(|cut| (Script::answer(chunked(EVENTS, &cut)), ["lost"].as_slice())),
    );
    check(OPENTOOL_STREAM, rows).await;
}

/// An ATS server that answers so to whoever follows a task.
fn followed(asked: &ReceivedRequest, events: &str) -> String {
    if asked.says("GET /callback") { events.to_owned() } else { (ATS.other)(asked) }
}

#[tokio::test]
async fn the_stream_of_a_task_may_be_cut_anywhere() {
    let others: [fn(&ReceivedRequest) -> String; 4] = [
        |asked| followed(asked, &closed(EVENTS, "")),
        |asked| followed(asked, &closed(EVENTS, "data: {\"status\":\"run")),
        |asked| {
            followed(
                asked,
                &closed(EVENTS, "data: {\"status\":\"running\",\"result\":null,\"error\":null}\n\n"),
            )
        },
        |asked| followed(asked, &chunked(EVENTS, "20\r\ndata: {\"status\":\"run")),
    ];
    for other in others {
        check(Dialect { other, ..ATS }, vec![(good(ATS), &["lost"])]).await;
    }
}
