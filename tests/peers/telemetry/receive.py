"""What toolmux exports, judged by programs of others: a receiver that decodes traces, metrics and logs by the protobufs of
OpenTelemetry, a client and an MCP server that OpenTelemetry's SDK traces, and the parsers of Prometheus for /metrics.

One call goes from the client through toolmux and the MCP server to an HTTP server: one trace.
"""

import base64
import contextlib
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request

from google.protobuf import json_format
from opentelemetry import propagate
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import SpanKind
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_prometheus

HERE = pathlib.Path(__file__).parent
SCRATCH = pathlib.Path(os.environ["TOOLMUX_SCRATCH"])
MESSAGES = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest,
            "/v1/logs": ExportLogsServiceRequest}
# Members that the JSON form of OTLP has as hexadecimal digits, where that of protobuf has base64.
HEXADECIMAL = {"traceId", "spanId", "parentSpanId"}


def with_base64(value):
    if isinstance(value, list):
        return [with_base64(item) for item in value]
    if isinstance(value, dict):
        return {name: base64.b64encode(bytes.fromhex(item)).decode() if name in HEXADECIMAL else with_base64(item)
                for name, item in value.items()}
    return value


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes OTLP as protobuf and as JSON. A member that the protobufs do not know is a fault."""

    protocol_version = "HTTP/1.1"
    lock = threading.Condition()
    spans, metrics, records, faults = [], [], [], []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        message = MESSAGES[self.path]()
        try:
            if self.headers["content-type"] == "application/x-protobuf":
                message.ParseFromString(body)
            else:
                json_format.ParseDict(with_base64(json.loads(body)), message)
        except (json_format.ParseError, ValueError) as error:
            Receiver.faults.append(f"{self.path}: {error}")
        with Receiver.lock:
            for resource in getattr(message, "resource_spans", []):
                service = names_of(resource.resource.attributes)["service.name"]
                Receiver.spans += [(service, span) for scope in resource.scope_spans for span in scope.spans]
            for resource in getattr(message, "resource_metrics", []):
                Receiver.metrics.append({m.name: m for scope in resource.scope_metrics for m in scope.metrics})
            for resource in getattr(message, "resource_logs", []):
                Receiver.records += [record for scope in resource.scope_logs for record in scope.log_records]
            Receiver.lock.notify_all()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


class Page(http.server.BaseHTTPRequestHandler):
    """What the MCP server fetches; keeps under which span."""

    parents = []

    def do_GET(self):
        Page.parents.append(self.headers["traceparent"])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"the page")

    def log_message(self, *_):
        pass


def names_of(attributes):
    return {attribute.key: attribute.value.string_value for attribute in attributes}


def until(what, find):
    """What is found, once something is."""
    with Receiver.lock:
        found = Receiver.lock.wait_for(lambda: Receiver.faults or find(), timeout=60)
    if Receiver.faults:
        raise SystemExit(f"what was exported is not OTLP: {Receiver.faults[0]}")
    if not found:
        raise SystemExit(f"{what} did not come: {Receiver.spans}")
    return find()


@contextlib.contextmanager
def listening(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@contextlib.contextmanager
def serving(config):
    path = SCRATCH / "toolmux.toml"
    path.write_text(config)
    command = [os.environ["TOOLMUX_BIN"], "serve", str(path), "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"})
    try:
        for line in server.stderr:
            found = re.search(r"serves \d+ tools? on (http://\S+)", line)
            if found:
                yield found.group(1)
                break
        else:
            raise SystemExit("toolmux did not start")
    finally:
        server.terminate()
        server.communicate(timeout=30)


def call(base, tool, headers):
    body = json.dumps({"tool_id": tool, "input": {}}).encode()
    request = urllib.request.Request(f"{base}/tools/call", body, {"content-type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def read(base, accept):
    request = urllib.request.Request(f"{base}/metrics", headers={"accept": accept})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.headers["content-type"], answer.read().decode()


def check_trace(collector, base):
    """Calls under a span of this process; the trace, once every span of it has come."""
    provider = TracerProvider(resource=Resource.create({"service.name": "client"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{collector}/v1/traces")))
    with provider.get_tracer("client").start_as_current_span("ask", kind=SpanKind.CLIENT) as client:
        headers = {}
        propagate.inject(headers)
        answer = call(base, "Page.fetch", headers)
        trace = client.get_span_context().trace_id.to_bytes(16)
    assert answer["success"] and "the page" in json.dumps(answer), answer

    def found():
        spans = [(service, span) for service, span in Receiver.spans if span.trace_id == trace]
        return spans if {"ask", "finish", "tools/call fetch", "GET"} <= {span.name for _, span in spans} else None

    spans = until("the whole trace", found)
    by_name = {span.name: (service, span) for service, span in spans}
    assert len(by_name) == len(spans), sorted(by_name)
    path = ["ask", "execute_tool Page.fetch", "tools/call fetch", "GET"]
    services = ["client", "tools", "mcp-server", "mcp-server"]
    assert [by_name[name][0] for name in path] == services, by_name.keys()
    for above, below in zip(path, path[1:]):
        assert by_name[below][1].parent_span_id == by_name[above][1].span_id, (above, below)
    for step in ["resolve", "validate", "queue", "run", "finish"]:
        assert by_name[step][1].parent_span_id == by_name[path[1]][1].span_id, step
    assert Page.parents == [f"00-{trace.hex()}-{by_name['GET'][1].span_id.hex()}-01"], Page.parents
    attributes = names_of(by_name[path[1]][1].attributes)
    assert attributes["gen_ai.operation.name"] == "execute_tool", attributes
    assert attributes["gen_ai.tool.name"] == "Page.fetch" and attributes["toolmux.protocol"] == "oxp", attributes
    return trace


def check_metrics(trace):
    def newest():
        of_call = [export for export in Receiver.metrics if "toolmux_call_seconds" in export]
        return of_call[-1] if of_call else None

    export = until("metrics", newest)
    seconds = export["toolmux_call_seconds"]
    point = seconds.histogram.data_points[0]
    assert seconds.unit == "s" and point.count == 1 == sum(point.bucket_counts), seconds
    assert len(point.bucket_counts) == len(point.explicit_bounds) + 1, point
    assert [exemplar.trace_id for exemplar in point.exemplars] == [trace], point
    calls = export["toolmux_caller_calls"].sum
    assert calls.is_monotonic and calls.aggregation_temporality == 2, calls
    labels = names_of(calls.data_points[0].attributes)
    assert labels == {"caller": "anonymous", "protocol": "oxp", "result": "returned"}, labels


def check_logs(base):
    call(base, "Shell.fail", {})
    failed = lambda: [record for record in Receiver.records if record.body.string_value.startswith("tool failed")]
    record = until("a log record", failed)[0]
    assert record.severity_text == "INFO" and len(record.trace_id) == 16 and len(record.span_id) == 8, record
    span = until("its span", lambda: [span for _, span in Receiver.spans if span.span_id == record.span_id])
    assert span[0].status.code == 2, span


def check_exposition(base, trace):
    kind, text = read(base, "text/plain")
    assert kind.startswith("text/plain"), kind
    plain = {family.name: family for family in read_prometheus(text)}
    kind, text = read(base, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert kind.startswith("application/openmetrics-text"), kind
    families = {family.name: family for family in read_openmetrics(text)}
    assert plain.keys() == families.keys() and len(families) > 30, plain.keys() ^ families.keys()
    exemplars = [sample.exemplar.labels for sample in families["toolmux_call_seconds"].samples if sample.exemplar]
    assert trace.hex() in [labels["trace_id"] for labels in exemplars], exemplars


def main():
    with listening(Receiver) as collector, listening(Page) as page:
        server = [sys.executable, str(HERE / "server.py"), page]
        config = f"""
[telemetry]
otlp = "{collector}"
trust = true
service = "tools"
interval = "200ms"

[sources.Page]
kind = "mcp"
command = {json.dumps(server)}
env = {{ OTEL_EXPORTER_OTLP_ENDPOINT = "{collector}" }}

[sources.Shell]
kind = "command"

[sources.Shell.tools.fail]
description = "Fails"
command = ["false"]
"""
        with serving(config) as base:
            trace = check_trace(collector, base)
            check_metrics(trace)
            check_logs(base)
            check_exposition(base, trace)
        until("the last record", lambda: any(record.body.string_value == "stopping" for record in Receiver.records))


main()
