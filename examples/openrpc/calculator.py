"""A JSON-RPC 2.0 server over HTTP that describes itself by OpenRPC (`rpc.discover`).

usage: calculator.py HOST:PORT
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ADDRESS = sys.argv[1]
NUMBER = {"$ref": "#/components/schemas/Number"}


def param(name):
    return {"name": name, "required": True, "schema": NUMBER}


DOCUMENT = {
    "openrpc": "1.3.2",
    "info": {"title": "Calculator", "version": "1.2.0"},
    "methods": [
        {
            "name": "divide",
            "summary": "Divides two numbers",
            "paramStructure": "by-position",
            "params": [param("dividend"), param("divisor")],
            "result": {"name": "quotient", "schema": NUMBER},
        },
        {
            "name": "describe",
            "summary": "Says what a number is",
            "paramStructure": "by-name",
            "params": [param("number")],
            "result": {"name": "words", "schema": {"type": "string"}},
        },
    ],
    "components": {"schemas": {"Number": {"type": "number"}}},
}


class JsonRpcError(Exception):
    pass


def answer(method, params):
    if method == "rpc.discover":
        return DOCUMENT
    if method == "divide":
        dividend, divisor = params
        if divisor == 0:
            raise JsonRpcError({"code": 1, "message": "cannot divide by zero", "data": {"dividend": dividend}})
        return dividend / divisor
    if method == "describe":
        return "even" if params["number"] % 2 == 0 else "not even"
    raise JsonRpcError({"code": -32601, "message": f"no method {method}"})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            reply["result"] = answer(request["method"], request.get("params"))
        except JsonRpcError as error:
            reply["error"] = error.args[0]
        text = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


host, port = ADDRESS.split(":")
server = ThreadingHTTPServer((host, int(port)), Handler)
print(f"the calculator is at http://{ADDRESS}", flush=True)
server.serve_forever()
