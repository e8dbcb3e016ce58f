//! Traces: the span of a call is in its receipt, and its source is called under it, each time it is called.

use std::sync::Arc;

use serde_json::json;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::progress::Progress;
use toolmux_core::receipt::Receipt;
use toolmux_core::trace_context::{TraceContext, TraceSettings};

use crate::fixture::{Fixture, anyone, gateway, request, tool};

const GIVEN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

async fn traced(traces: TraceSettings) -> (Arc<Gateway>, Arc<Fixture>) {
    let source = Fixture::with(["run", "unreached", "busy_once"].map(tool).into());
    (gateway(Settings { traces, ..Settings::default() }, &source).await, source)
}

async fn call(gateway: &Arc<Gateway>, tool: &str) -> Receipt {
    let mut request = request(tool, json!({}));
    request.trace = Some(GIVEN.into());
    gateway.call(&anyone(gateway), request, &Progress::unheard()).await.ok();
    gateway.receipts().list(|_| true, 1).remove(0)
}

fn sent(source: &Fixture) -> Vec<Option<String>> {
    source.traces.lock().expect("not poisoned").clone()
}

fn on(trust: bool) -> TraceSettings {
    TraceSettings { enabled: true, sample: 1.0, trust }
}

#[tokio::test]
async fn a_source_is_called_under_the_span_that_is_in_the_receipt() {
    let (gateway, source) = traced(on(false)).await;
    let span = call(&gateway, "Kit.run").await.span.expect("traced");
    assert_eq!(sent(&source), [Some(span.context.traceparent())]);
    assert_eq!((span.parent, span.link), (None, TraceContext::read(GIVEN)));
}

#[tokio::test]
async fn a_caller_that_is_trusted_has_its_trace_continued() {
    let (gateway, source) = traced(on(true)).await;
    let span = call(&gateway, "Kit.run").await.span.expect("traced");
    let given = TraceContext::read(GIVEN).expect("good");
    assert_eq!((span.context.trace, span.parent, span.link), (given.trace, Some(given.span), None));
    assert_eq!(sent(&source), [Some(span.context.traceparent())]);
}

#[tokio::test(start_paused = true)]
async fn every_attempt_is_made_under_the_same_span() {
    let (gateway, source) = traced(on(false)).await;
    let span = call(&gateway, "Kit.unreached").await.span.expect("traced");
    assert_eq!(sent(&source), vec![Some(span.context.traceparent()); 3]);
}

#[tokio::test]
async fn nothing_is_sent_where_calls_are_not_traced() {
    let (gateway, source) = traced(TraceSettings::default()).await;
    let receipt = call(&gateway, "Kit.run").await;
    assert_eq!((receipt.span, receipt.trace.as_deref()), (None, Some(GIVEN)));
    assert_eq!(sent(&source), [None]);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_runs_again_keeps_its_span() {
    let (gateway, source) = traced(on(true)).await;
    let mut request = request("Kit.busy_once", json!({}));
    request.trace = Some(GIVEN.into());
    gateway.tasks().submit(&anyone(&gateway), request, None).await.expect("accepted");
    while gateway.receipts().position() == 0 {
        tokio::time::advance(std::time::Duration::from_millis(100)).await;
        tokio::task::yield_now().await;
    }
    let span = gateway.receipts().list(|_| true, 1).remove(0).span.expect("traced");
    assert_eq!(span.parent, TraceContext::read(GIVEN).map(|given| given.span));
    assert_eq!(sent(&source), vec![Some(span.context.traceparent()); 2]);
}
