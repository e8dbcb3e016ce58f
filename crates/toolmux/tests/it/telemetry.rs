//! What a collector receives: one trace from the caller through every step to the source, metrics, and the log; and a
//! collector that is dead, silent or refuses costs no call anything.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http_request::read_request;
use crate::process::{Serving, folder, until};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

const SHELL: &str = r#"
[sources.Shell]
kind = "command"

[sources.Shell.tools.trace]
description = "Prints its trace"
command = ["sh", "-c", "echo $TRACEPARENT"]

[sources.Shell.tools.fail]
description = "Fails"
command = ["false"]
"#;

/// An OTLP/HTTP collector that answers every request with one status.
struct TestCollector {
    address: String,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl TestCollector {
    fn answering(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests: Arc<Mutex<Vec<_>>> = Arc::default();
        let received = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let received = Arc::clone(&received);
                std::thread::spawn(move || answer(stream, status, &received));
            }
        });
        TestCollector { address, requests }
    }

    /// What is at a place of all requests.
    fn all(&self, place: &str) -> Vec<Value> {
        let requests = self.requests.lock().unwrap();
        let found = requests.iter().filter_map(|(_, body)| body.pointer(place)?.as_array().cloned());
        found.flatten().collect()
    }

    fn spans(&self) -> Vec<Value> {
        self.all("/resourceSpans/0/scopeSpans/0/spans")
    }

    fn log_records(&self) -> Vec<Value> {
        self.all("/resourceLogs/0/scopeLogs/0/logRecords")
    }

    /// The head of the first request to an address, and its body.
    fn request_to(&self, path: &str) -> (String, Value) {
        until("a request", || {
            let requests = self.requests.lock().unwrap();
            requests.iter().find(|(head, _)| head.starts_with(&format!("POST {path} "))).cloned()
        })
    }

    /// The spans of calls, without those of their steps, once there are as many.
    fn calls(&self, count: usize) -> Vec<Value> {
        let calls = || self.spans().into_iter().filter(|span| span["kind"] == 2).collect::<Vec<_>>();
        until("spans", || Some(calls()).filter(|calls| calls.len() >= count))
    }
}

fn answer(stream: TcpStream, status: &str, received: &Mutex<Vec<(String, Value)>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some((head, body)) = read_request(&mut reader) {
        received.lock().unwrap().push((head, serde_json::from_str(&body).unwrap()));
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n{{}}");
        stream.write_all(answer.as_bytes()).ok();
    }
}

fn config(collector: &str, more: &str) -> String {
    format!("store = \"memory\"\n[telemetry]\notlp = \"http://{collector}\"\n{more}\n{SHELL}")
}

/// Calls under a trace; the text that the tool returned.
fn call(serving: &Serving, tool: &str) -> String {
    let body = json!({ "tool_id": format!("Shell.{tool}"), "input": {} }).to_string();
    let headers = format!("traceparent: 00-{TRACE}-{PARENT}-01\r\n");
    let (status, answer) = serving.post("/tools/call", &headers, body.as_bytes());
    assert_eq!(status, 200, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["value"].as_str().unwrap_or_default().trim().to_owned()
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let found = span["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == key);
    found.map_or(&Value::Null, |attribute| &attribute["value"]["stringValue"])
}

#[test]
fn one_trace_leads_from_the_caller_through_every_step_to_the_source() {
    let collector = TestCollector::answering("200 OK");
    let more = "trust = true\nservice = \"tools\"\nheaders = { authorization = \"Bearer otlp\" }";
    let folder = folder(&config(&collector.address, more));
    let serving = Serving::start(folder.path());
    let printed = call(&serving, "trace");
    let span = collector.calls(1).remove(0);
    assert_eq!((&span["traceId"], &span["parentSpanId"]), (&json!(TRACE), &json!(PARENT)));
    assert_eq!(printed, format!("00-{TRACE}-{}-01", span["spanId"].as_str().unwrap()));
    assert_eq!(span["name"], "execute_tool Shell.trace");
    assert_eq!(attribute(&span, "gen_ai.tool.name"), "Shell.trace");
    assert_eq!(attribute(&span, "toolmux.protocol"), "oxp");
    let spans = collector.spans();
    let steps = spans.iter().filter(|step| step["parentSpanId"] == span["spanId"]);
    let steps: Vec<_> = steps.map(|step| step["name"].as_str().unwrap()).collect();
    assert_eq!(steps, ["resolve", "validate", "queue", "run", "finish"]);
    let (head, body) = collector.request_to("/v1/traces");
    assert!(head.contains("authorization: Bearer otlp") && head.contains("application/json"), "{head}");
    assert!(body.to_string().contains(r#"{"stringValue":"tools"}"#), "{body}");
}

#[test]
fn the_trace_of_a_caller_that_is_not_trusted_is_linked() {
    let collector = TestCollector::answering("200 OK");
    let folder = folder(&config(&collector.address, ""));
    let serving = Serving::start(folder.path());
    let printed = call(&serving, "trace");
    let span = collector.calls(1).remove(0);
    assert_eq!((&span["links"][0]["traceId"], &span["links"][0]["spanId"]), (&json!(TRACE), &json!(PARENT)));
    assert_eq!(span["parentSpanId"], Value::Null);
    let own = span["traceId"].as_str().unwrap();
    assert!(own != TRACE && printed.contains(own), "{printed}");
}

#[test]
fn failures_are_exported_though_nothing_is_sampled() {
    let collector = TestCollector::answering("200 OK");
    let folder = folder(&config(&collector.address, "sample = 0.0"));
    let serving = Serving::start(folder.path());
    assert!(call(&serving, "trace").ends_with("-00"));
    call(&serving, "fail");
    let spans = collector.calls(1);
    assert_eq!(spans.len(), 1, "{spans:?}");
    assert_eq!(attribute(&spans[0], "error.type"), "tool_error");
    assert_eq!(spans[0]["status"]["code"], 2);
}

#[test]
fn the_last_spans_are_sent_when_the_server_stops() {
    let collector = TestCollector::answering("200 OK");
    let folder = folder(&config(&collector.address, ""));
    let mut serving = Serving::start(folder.path());
    call(&serving, "trace");
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(0));
    assert_eq!(collector.calls(1).len(), 1);
}

#[test]
fn metrics_are_exported_with_the_traces_of_their_values() {
    let collector = TestCollector::answering("200 OK");
    let folder = folder(&config(&collector.address, "interval = \"100ms\"\nsignals = [\"metrics\"]"));
    let serving = Serving::start(folder.path());
    let own = call(&serving, "trace");
    let own = own.split('-').nth(1).unwrap();
    let place = "/resourceMetrics/0/scopeMetrics/0/metrics";
    let metric = |name: &str| collector.all(place).into_iter().rev().find(|metric| metric["name"] == name);
    let seconds = until("the metrics of the call", || metric("toolmux_call_seconds"));
    let point = &seconds["histogram"]["dataPoints"][0];
    assert_eq!((&point["count"], &seconds["unit"]), (&json!("1"), &json!("s")));
    assert_eq!(attribute(point, "tool"), "Shell.trace");
    assert_eq!(point["exemplars"][0]["traceId"], own);
    let calls = metric("toolmux_caller_calls").unwrap();
    let point = &calls["sum"]["dataPoints"][0];
    assert_eq!(
        (attribute(point, "caller"), attribute(point, "protocol")),
        (&json!("anonymous"), &json!("oxp"))
    );
    let (head, _) = collector.request_to("/v1/metrics");
    assert!(head.contains("application/json"), "{head}");
    assert_eq!(collector.spans(), Vec::<Value>::new());
}

#[test]
fn the_log_is_exported_with_the_trace_of_the_call() {
    let collector = TestCollector::answering("200 OK");
    let folder = folder(&config(&collector.address, "signals = [\"logs\", \"traces\"]"));
    let mut serving = Serving::start(folder.path());
    call(&serving, "fail");
    let span = collector.calls(1).remove(0);
    let of_call = |record: &Value| record["spanId"] == span["spanId"];
    let record = until("the record", || collector.log_records().into_iter().find(of_call));
    let body = record["body"]["stringValue"].as_str().unwrap();
    assert!(body.starts_with("tool failed"), "{record}");
    assert_eq!((&record["traceId"], &record["severityText"]), (&span["traceId"], &json!("INFO")));
    assert_eq!(attribute(&record, "tool"), "Shell_fail");
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(0));
    let said = collector.log_records().iter().any(|record| record["body"]["stringValue"] == "stopping");
    assert!(said, "the last records are sent when the server stops");
}

#[test]
fn a_dead_collector_is_logged_once_and_does_not_delay_calls_or_the_stop() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let folder = folder(&config(&address, ""));
    let mut serving = Serving::start(folder.path());
    call(&serving, "trace");
    serving.told("traces cannot be exported to `telemetry.otlp`");
    call(&serving, "trace");
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(0));
    let log = serving.told("stopping");
    assert!(log.contains("metrics cannot be exported") && log.contains("logs cannot be exported"), "{log}");
    assert_eq!(log.matches("traces cannot be exported").count(), 1, "{log}");
}

#[test]
fn a_silent_collector_delays_the_stop_by_a_second_at_most() {
    // Connections wait in its queue, and nobody answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = folder(&config(&listener.local_addr().unwrap().to_string(), ""));
    let mut serving = Serving::start(folder.path());
    call(&serving, "trace");
    let began = Instant::now();
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    serving.told("did not take the last spans");
}

#[test]
fn what_a_collector_refuses_is_dropped_and_counted() {
    let collector = TestCollector::answering("400 Bad Request");
    let folder = folder(&config(&collector.address, ""));
    let serving = Serving::start(folder.path());
    call(&serving, "trace");
    until("the count", || {
        serving
            .get("/metrics", "")
            .1
            .contains("toolmux_telemetry_dropped_total{signal=\"traces\"} 1")
            .then_some(())
    });
}
