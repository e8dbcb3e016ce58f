"""An MCP server over HTTP, of a revision with a handshake (2025-06-18) or of the stateless 2026-07-28.

usage: http_server.py REVISION HOST:PORT
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REVISION, ADDRESS = sys.argv[1:]
STATELESS = REVISION >= "2026"
NUMBERS = {"type": "array", "items": {"type": "number"}}
TOOL = {
    "name": "sum",
    "description": "Adds numbers",
    "inputSchema": {"type": "object", "properties": {"numbers": NUMBERS}, "required": ["numbers"]},
    "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]},
}
INFO = {"name": "adder", "version": "1.0.0"}


def answer(method, params):
    if method == "initialize" and not STATELESS:
        return {"protocolVersion": REVISION, "capabilities": {"tools": {}}, "serverInfo": INFO}
    if method == "server/discover" and STATELESS:
        return {"supportedVersions": [REVISION], "capabilities": {"tools": {}}, "serverInfo": INFO}
    if method == "tools/list":
        return {"tools": [TOOL], **({"ttlMs": 60000, "cacheScope": "public"} if STATELESS else {})}
    if method == "tools/call":
        value = {"sum": sum(params["arguments"]["numbers"]), "revision": REVISION}
        return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
    return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message:
            return self.reply(202, b"")
        result = answer(message["method"], message.get("params", {}))
        if result is None:
            body, status = {"error": {"code": -32601, "message": "no such method"}}, 404 if STATELESS else 200
        else:
            body, status = {"result": {**result, **({"resultType": "complete"} if STATELESS else {})}}, 200
        self.reply(status, json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}).encode())

    def do_GET(self):
        self.reply(405, b"")

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


host, port = ADDRESS.rsplit(":", 1)
server = ThreadingHTTPServer((host, int(port)), Handler)
print(f"{REVISION} serves on http://{ADDRESS}/mcp", flush=True)
server.serve_forever()
