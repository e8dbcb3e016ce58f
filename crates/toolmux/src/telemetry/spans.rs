//! Spans in the JSON form of OTLP, made from receipts: one for the call, and one below it for each step. Names and
//! attributes are those of OpenTelemetry's semantic conventions for generative AI, MCP and RPC where there are any.

use serde::Serialize;
use toolmux_core::hex::to_hex;
use toolmux_core::receipt::{Receipt, ReceiptKind, ReceiptOutcome};
use toolmux_core::trace_context::{CallSpan, TraceContext};

use super::otlp::{Attribute, AttributeValue, ExportingService, OtlpResource, OtlpScope, number, text};

/// The numbers that OTLP has for span kinds and for the status of a failed span.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
const ERROR: u8 = 2;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportRequest<'a> {
    resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: &'a OtlpResource,
    scope_spans: [ScopeSpans; 1],
}

#[derive(Serialize)]
struct ScopeSpans {
    scope: OtlpScope,
    spans: Vec<OtlpSpan>,
}

/// Ids are hexadecimal, and 64-bit numbers strings, as the JSON form of OTLP has them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OtlpSpan {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    flags: u32,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<OtlpLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<OtlpStatus>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OtlpLink {
    trace_id: String,
    span_id: String,
    flags: u32,
}

#[derive(Serialize)]
struct OtlpStatus {
    code: u8,
}

/// The body of a request that exports the spans of some calls.
pub(super) fn export_request(service: &ExportingService, calls: &[Receipt]) -> Vec<u8> {
    let scope = OtlpScope::OWN;
    let traced = calls.iter().filter_map(|receipt| Some((receipt, receipt.span?)));
    let spans = traced.flat_map(|(receipt, span)| spans_of(receipt, &span)).collect();
    let resource_spans =
        [ResourceSpans { resource: service.resource(), scope_spans: [ScopeSpans { scope, spans }] }];
    serde_json::to_vec(&ExportRequest { resource_spans }).expect("spans have a JSON form")
}

/// The span of a call, and those of its steps below it.
fn spans_of(receipt: &Receipt, span: &CallSpan) -> Vec<OtlpSpan> {
    let began = receipt.id.at_nanos();
    let error = error_type(receipt);
    let mut call = span_between(span.context, (began, receipt.us), span_name(receipt), SERVER);
    call.parent_span_id = span.parent.map(|parent| to_hex(&parent));
    call.attributes = attributes(receipt, error);
    call.links = span.link.iter().map(link).collect();
    call.status = error.map(|_| OtlpStatus { code: ERROR });
    let mut spans = vec![call];
    let mut step_began = began;
    for (number, step) in (1..=u8::MAX).zip(&receipt.steps) {
        // Ids of steps follow from that of the call, so that a batch that is sent again has the same.
        let mut context = span.context;
        context.span[7] ^= number;
        let mut step_span = span_between(context, (step_began, step.us), step.step.to_string(), INTERNAL);
        step_span.parent_span_id = Some(to_hex(&span.context.span));
        spans.push(step_span);
        step_began += step.us.saturating_mul(1_000);
    }
    spans
}

fn span_between(context: TraceContext, (began, us): (u64, u64), name: String, kind: u8) -> OtlpSpan {
    OtlpSpan {
        trace_id: to_hex(&context.trace),
        span_id: to_hex(&context.span),
        parent_span_id: None,
        flags: context.sampled.into(),
        name,
        kind,
        start_time_unix_nano: began.to_string(),
        end_time_unix_nano: began.saturating_add(us.saturating_mul(1_000)).to_string(),
        attributes: Vec::new(),
        links: Vec::new(),
        status: None,
    }
}

fn link(context: &TraceContext) -> OtlpLink {
    OtlpLink {
        trace_id: to_hex(&context.trace),
        span_id: to_hex(&context.span),
        flags: context.sampled.into(),
    }
}

/// The method that MCP has for it.
fn mcp_method(receipt: &Receipt) -> Option<&str> {
    match receipt.kind {
        ReceiptKind::Call | ReceiptKind::Task => (receipt.protocol == "mcp").then_some("tools/call"),
        ReceiptKind::Relay => receipt.method.as_deref(),
    }
}

/// Few different names: neither the address of a resource nor what a caller made up is part of one.
fn span_name(receipt: &Receipt) -> String {
    let what = mcp_method(receipt).unwrap_or("execute_tool");
    let is_named = match receipt.kind {
        ReceiptKind::Call | ReceiptKind::Task => receipt.source.is_some(),
        ReceiptKind::Relay => what.starts_with("prompts/"),
    };
    if is_named { format!("{what} {}", name_and_version(receipt).0) } else { what.to_owned() }
}

fn name_and_version(receipt: &Receipt) -> (&str, Option<&str>) {
    match receipt.kind {
        ReceiptKind::Call | ReceiptKind::Task => receipt
            .tool
            .split_once('@')
            .map_or((&receipt.tool, None), |(name, version)| (name, Some(version))),
        ReceiptKind::Relay => (&receipt.tool, None),
    }
}

/// Why a call did not succeed.
fn error_type(receipt: &Receipt) -> Option<&str> {
    match receipt.outcome {
        ReceiptOutcome::Returned => None,
        ReceiptOutcome::Failed => Some(receipt.errors.last().map_or("tool_error", |error| error)),
        ReceiptOutcome::Refused => Some(&receipt.verdict),
        ReceiptOutcome::Cancelled => Some("cancelled"),
    }
}

fn attributes(receipt: &Receipt, error: Option<&str>) -> Vec<Attribute> {
    let (name, version) = name_and_version(receipt);
    let mut found = match receipt.kind {
        ReceiptKind::Call | ReceiptKind::Task => {
            vec![text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", name)]
        }
        ReceiptKind::Relay if span_name(receipt).starts_with("prompts/") => {
            vec![text("gen_ai.prompt.name", name)]
        }
        ReceiptKind::Relay => vec![text("mcp.resource.uri", name)],
    };
    let is_rpc = receipt.protocol == "opentool";
    let errors = (!receipt.errors.is_empty()).then(|| receipt.errors.join(","));
    let id = receipt.id.to_string();
    let texts = [
        ("gen_ai.tool.call.id", receipt.call_id.as_deref()),
        ("mcp.method.name", mcp_method(receipt)),
        ("rpc.system.name", is_rpc.then_some("jsonrpc")),
        ("rpc.method", Some(name).filter(|_| is_rpc)),
        ("error.type", error),
        ("toolmux.receipt", Some(&*id)),
        ("toolmux.caller", Some(&*receipt.caller)),
        ("toolmux.protocol", Some(&*receipt.protocol).filter(|protocol| !protocol.is_empty())),
        ("toolmux.source", receipt.source.as_deref()),
        ("toolmux.tool.version", version),
        ("toolmux.task", receipt.task.as_deref()),
        ("toolmux.verdict", Some(&*receipt.verdict)),
        ("toolmux.outcome", Some(receipt.outcome.as_str())),
        ("toolmux.errors", errors.as_deref()),
    ];
    found.extend(texts.into_iter().filter_map(|(key, value)| Some(text(key, value?))));
    found.push(number("toolmux.attempts", receipt.attempts.into()));
    if receipt.repeated {
        found.push(Attribute { key: "toolmux.repeated", value: AttributeValue::Flag(true) });
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const RECEIPT: &str = concat!(
        r#"{"id":"019e0000-0000-7800-8000-000000000001","time":"","kind":"call","caller":"alice","protocol":"mcp","#,
        r#""tool":"Kit.add@1.0.0","source":"Kit","verdict":"allowed","outcome":"failed","attempts":1,"us":12,"#,
        r#""steps":[{"step":"resolve","us":3},{"step":"run","us":9}],"#,
        r#""span":{"context":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}"#,
    );

    fn spans(change: impl Fn(&mut Value)) -> Vec<Value> {
        let mut receipt: Value = serde_json::from_str(RECEIPT).unwrap();
        change(&mut receipt);
        let receipt: Receipt = serde_json::from_value(receipt).unwrap();
        let request = export_request(&ExportingService::named("tools"), &[receipt]);
        let request: Value = serde_json::from_slice(&request).unwrap();
        let name = &request["resourceSpans"][0]["resource"]["attributes"][0];
        assert_eq!(name, &json!({ "key": "service.name", "value": { "stringValue": "tools" } }));
        request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
    }

    #[test]
    fn steps_follow_each_other_below_the_span_of_their_call() {
        let spans = spans(|_| ());
        let [call, resolve, run] = &spans[..] else { panic!("{spans:?}") };
        assert_eq!((&call["name"], &call["kind"]), (&json!("tools/call Kit.add"), &json!(SERVER)));
        assert_eq!(call["status"], json!({ "code": ERROR }));
        assert_eq!((&resolve["name"], &run["name"]), (&json!("resolve"), &json!("run")));
        for step in [resolve, run] {
            assert_eq!(step["parentSpanId"], call["spanId"]);
            assert_eq!(step["traceId"], call["traceId"]);
        }
        assert_eq!(resolve["startTimeUnixNano"], call["startTimeUnixNano"]);
        assert_eq!(resolve["endTimeUnixNano"], run["startTimeUnixNano"]);
        assert_eq!(run["endTimeUnixNano"], call["endTimeUnixNano"]);
        let half = call["startTimeUnixNano"].as_str().unwrap().ends_with("500000");
        assert!(half, "the id has a fraction of its millisecond: {call}");
    }

    #[test]
    fn names_of_spans_have_nothing_that_callers_make_up() {
        let name = |change: fn(&mut Value)| spans(change)[0]["name"].clone();
        assert_eq!(name(|receipt| receipt["protocol"] = json!("oxp")), "execute_tool Kit.add");
        assert_eq!(name(|receipt| receipt["source"] = Value::Null), "tools/call");
        let relayed = |receipt: &mut Value, method: &str| {
            (receipt["kind"], receipt["method"]) = (json!("relay"), json!(method));
        };
        let read = spans(|receipt| relayed(receipt, "resources/read"));
        assert_eq!(read[0]["name"], "resources/read");
        let prompt = spans(|receipt| relayed(receipt, "prompts/get"));
        assert_eq!(prompt[0]["name"], "prompts/get Kit.add@1.0.0");
    }
}
