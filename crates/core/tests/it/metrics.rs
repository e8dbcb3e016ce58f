//! Metrics as they are read: calls by tool, caller and step, sources, bounds of their number, and traces of values.

use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::json;
use toolmux_core::call::Request;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::hex::to_hex;
use toolmux_core::limits::Limits;
use toolmux_core::metrics::MetricsFormat;
use toolmux_core::progress::Progress;
use toolmux_core::trace_context::TraceSettings;

use crate::fixture::{Fixture, anyone, call, gateway, request, tool};

async fn fixture(settings: Settings) -> Arc<Gateway> {
    gateway(settings, &Fixture::with(["run", "fail", "unreached", "wait", "forever"].map(tool).into())).await
}

fn text(gateway: &Gateway) -> String {
    gateway.metrics_text(MetricsFormat::Prometheus)
}

fn check(gateway: &Gateway, lines: &[&str]) {
    let text = text(gateway);
    for line in lines {
        assert!(text.lines().any(|found| found == *line), "{line} is not in\n{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_counted_by_tool_caller_source_and_step() {
    let gateway = fixture(Settings::default()).await;
    for tool in ["Kit.run", "Kit.fail", "Kit.unreached", "Kit.none"] {
        call(&gateway, tool, json!({})).await;
    }
    check(
        &gateway,
        &[
            r#"toolmux_calls_total{tool="Kit.run",result="returned"} 1"#,
            r#"toolmux_calls_total{tool="Kit.fail",result="failed"} 1"#,
            r#"toolmux_calls_total{tool="Kit.unreached",result="refused"} 1"#,
            // What a caller made up is not the name of a series.
            r#"toolmux_calls_total{tool="unknown",result="refused"} 1"#,
            r#"toolmux_call_seconds_count{tool="Kit.run"} 1"#,
            r#"toolmux_caller_calls_total{caller="anonymous",protocol="none",result="refused"} 2"#,
            r#"toolmux_source_attempts_total{source="Kit"} 5"#,
            r#"toolmux_source_errors_total{source="Kit",error="not_reached"} 3"#,
            r#"toolmux_step_seconds_count{step="validate"} 3"#,
            r#"toolmux_step_seconds_count{step="finish"} 4"#,
            r#"toolmux_refusals_total{reason="unknown_tool"} 1"#,
            r#"toolmux_source_ready{source="Kit"} 1"#,
            r#"toolmux_source_tools{source="Kit"} 5"#,
        ],
    );
    assert!(!text(&gateway).contains("call_seconds_count{tool=\"unknown\"}"));
}

#[tokio::test]
async fn an_answer_from_the_ledger_is_a_repeat() {
    let gateway = fixture(Settings::default()).await;
    for _ in 0..3 {
        let request = Request { id: Some("7".into()), ..request("Kit.run", json!({})) };
        gateway.call(&anyone(&gateway), request, &Progress::unheard()).await.expect("an outcome");
    }
    check(
        &gateway,
        &[
            r#"toolmux_calls_total{tool="Kit.run",result="returned"} 1"#,
            r#"toolmux_calls_total{tool="Kit.run",result="repeated"} 2"#,
            r#"toolmux_call_seconds_count{tool="Kit.run"} 1"#,
            r#"toolmux_step_seconds_count{step="record"} 3"#,
        ],
    );
}

#[tokio::test]
async fn calls_that_run_and_wait_are_seen_while_they_do() {
    let limits = Limits { concurrency: 1, ..Limits::default() };
    let gateway = fixture(Settings { limits, ..Settings::default() }).await;
    let (caller, progress) = (anyone(&gateway), Progress::unheard());
    let ask = || Box::pin(gateway.call(&caller, request("Kit.forever", json!({})), &progress));
    let (mut first, mut second) = (ask(), ask());
    assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
    check(
        &gateway,
        &[
            r#"toolmux_calls_running{tool="Kit.forever"} 1"#,
            r#"toolmux_calls_waiting{tool="Kit.forever"} 1"#,
            r#"toolmux_source_in_flight{source="Kit"} 2"#,
        ],
    );
    drop((first, second));
    check(&gateway, &[r#"toolmux_calls_total{tool="Kit.forever",result="cancelled"} 2"#]);
    assert!(!text(&gateway).contains("toolmux_calls_running{"));
}

#[tokio::test]
async fn tools_beyond_the_limit_share_their_metrics() {
    let limits = Limits { metrics_tools: 1, metrics_callers: 0, ..Limits::default() };
    let gateway = fixture(Settings { limits, ..Settings::default() }).await;
    for tool in ["Kit.run", "Kit.fail", "Kit.run"] {
        call(&gateway, tool, json!({})).await;
    }
    check(
        &gateway,
        &[
            r#"toolmux_calls_total{tool="Kit.run",result="returned"} 2"#,
            r#"toolmux_calls_total{tool="other",result="failed"} 1"#,
            r#"toolmux_caller_calls_total{caller="other",protocol="none",result="returned"} 2"#,
        ],
    );
    assert!(!text(&gateway).contains("anonymous"));
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_is_seen() {
    let limits = Limits { breaker_failures: 2, ..Limits::default() };
    let gateway = fixture(Settings { limits, ..Settings::default() }).await;
    check(&gateway, &[r#"toolmux_source_open_breakers{source="Kit"} 0"#]);
    for _ in 0..2 {
        call(&gateway, "Kit.unreached", json!({})).await;
    }
    check(&gateway, &[r#"toolmux_source_open_breakers{source="Kit"} 1"#]);
}

#[tokio::test]
async fn values_name_the_traces_that_are_exported() {
    let traced = |sample| TraceSettings { enabled: true, sample, trust: false };
    for (sample, tool, is_exported) in
        [(1.0, "Kit.run", true), (0.0, "Kit.run", false), (0.0, "Kit.fail", true)]
    {
        let gateway = fixture(Settings { traces: traced(sample), ..Settings::default() }).await;
        call(&gateway, tool, json!({})).await;
        let receipt = gateway.receipts().list(|_| true, 1).remove(0);
        let id = format!("trace_id=\"{}\"", to_hex(&receipt.span.expect("traced").context.trace));
        let open = gateway.metrics_text(MetricsFormat::OpenMetrics);
        let named = |name: &str| open.lines().any(|line| line.starts_with(name) && line.contains(&id));
        assert_eq!(named("toolmux_call_seconds_bucket"), is_exported, "{open}");
        assert_eq!(named("toolmux_step_seconds_bucket"), is_exported, "{open}");
        assert!(!text(&gateway).contains("trace_id"));
    }
}
