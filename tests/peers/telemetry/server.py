"""An MCP server on standard streams that OpenTelemetry's own SDK traces: its tool makes an HTTP request. Both spans go to the
collector that the environment names.

usage: server.py URL
"""

import json
import sys
import urllib.error
import urllib.request

from opentelemetry import propagate
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import SpanKind

PROVIDER = TracerProvider(resource=Resource.create({"service.name": "mcp-server"}))
PROVIDER.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
TRACER = PROVIDER.get_tracer("server")

TOOL = {"name": "fetch", "description": "Fetches", "inputSchema": {"type": "object", "properties": {}}}


def fetch(meta):
    parent = propagate.extract(meta)
    with TRACER.start_as_current_span("tools/call fetch", context=parent, kind=SpanKind.SERVER):
        with TRACER.start_as_current_span("GET", kind=SpanKind.CLIENT):
            headers = {}
            propagate.inject(headers)
            request = urllib.request.Request(sys.argv[1], headers=headers)
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.read().decode()


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "fetching", "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": fetch(params.get("_meta", {}))}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    reply |= {"result": result} if result is not None else {"error": {"code": -32601, "message": "unknown method"}}
    print(json.dumps(reply), flush=True)
