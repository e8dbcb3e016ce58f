"""OpenTool as public SDKs speak it, over another HTTP and TLS than ours.

None of the SDKs can be installed from a registry, so this plays their part: the servers answer in the shapes
of the Dart, TypeScript and Java servers, and the client of streams matches bytes as the Dart client does,
inside each network read separately.
"""

import contextlib
import json
import os
import re
import socket
import ssl
import subprocess
import threading
import unittest
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TOOLMUX = os.environ["TOOLMUX_BIN"]
SCRATCH = Path(os.environ["TOOLMUX_SCRATCH"])
KEY = "peer-key"

DOCUMENT = {
    "opentool": "1.0.0",
    "info": {"title": "Notes", "version": "1.0.0"},
    "functions": [
        {"name": "read", "description": "Reads a note", "return": None, "parameters": [
            {"name": "id", "description": None, "required": True, "schema": {"type": "integer"}}]},
        {"name": "tail", "description": "Reads all notes one by one", "parameters": [], "return": None,
         "stream": {"data": {"name": "text", "schema": {"type": "string"}}}},
    ],
}


class Notes(BaseHTTPRequestHandler):
    """A server as an SDK makes one; `jsonrpc` is what that SDK writes."""

    protocol_version = "HTTP/1.1"
    jsonrpc = "2.0"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json; charset=utf-8"):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def allowed(self):
        if self.headers.get("Authorization") == f"Bearer {KEY}":
            return True
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer(401, "Invalid authorization token", "text/plain")
        return False

    def do_GET(self):
        if self.allowed():
            self.answer(200, json.dumps(DOCUMENT if self.path == "/opentool/load" else {"version": "0.0.1"}))

    def do_POST(self):
        if not self.allowed():
            return
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/opentool/streamCall":
            self.stream(call)
        elif call["params"].get("id") == 404:
            error = {"code": 500, "message": json.dumps({"code": 500, "message": "Error: no such note"})}
            self.answer(200, json.dumps({"jsonrpc": self.jsonrpc, "result": {}, "id": call["id"], "error": error}))
        else:
            self.answer(200, json.dumps({"jsonrpc": self.jsonrpc, "result": {"text": "é"}, "id": call["id"]}))

    def stream(self, call):
        self.answer(404, "<pre>Cannot POST /opentool/streamCall</pre>", "text/html")


class Dart(Notes):
    """Streams, and closes without `done`."""

    def stream(self, call):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b'event:start\ndata:{"start":"tail"}\n\n')
        for n in range(3):
            body = {"jsonrpc": "2.0", "result": {"text": f"note {n}"}, "id": call["id"]}
            self.wfile.write(f"event:data\ndata:{json.dumps(body)}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True


class TypeScript(Notes):
    jsonrpc = "2.0.0"


@contextlib.contextmanager
def serving(handler, tls=None):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://localhost:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def toolmux(url, **environment):
    config = SCRATCH / "toolmux.toml"
    config.write_text(f'store = "memory"\n[sources.Notes]\nkind = "opentool"\nurl = "{url}"\n'
                      f'key = "{KEY}"\nnames = "bare"\n')
    child = subprocess.Popen([TOOLMUX, "serve", str(config), "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE,
                             text=True, env={**os.environ, "NO_COLOR": "1", **environment})
    told = []
    try:
        for line in child.stderr:
            told.append(line)
            if " serves " in line and " on http://" in line:
                break
        yield line.split(" on ")[1].strip()
    finally:
        child.terminate()
        child.communicate(timeout=30)


def ask(base, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def call(base, method, params):
    return ask(base, "/opentool/call", {"jsonrpc": "2.0", "method": method, "params": params, "id": "c1"})


def follow_as_dart(base, method):
    """Events as the Dart client finds them: by a pattern, inside each network read separately."""
    host, port = base.removeprefix("http://").split(":")
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": {}, "id": "c1"})
    events = []
    with socket.create_connection((host, int(port)), timeout=30) as stream:
        stream.sendall(f"POST /opentool/streamCall HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                       f"Accept: text/event-stream\r\nContent-Type: application/json\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        while piece := stream.recv(65536):
            events += re.findall(r"event:(\w+)\ndata:(.*?)\n\n", piece.decode())
    return [(name, json.loads(data)) for name, data in events]


class OpenTool(unittest.TestCase):
    def check(self, handler):
        with serving(handler) as url, toolmux(url) as base:
            self.assertEqual([f["name"] for f in ask(base, "/opentool/load")["functions"]], ["read", "tail"])
            good = {"jsonrpc": "2.0", "result": {"text": "é"}, "error": None, "id": "c1"}
            self.assertEqual(call(base, "read", {"id": 1}), good)
            failed = call(base, "read", {"id": 404})["error"]
            self.assertEqual(failed, {"code": 500, "message": '{"code": 500, "message": "Error: no such note"}'})
            refused = call(base, "read", {"id": "x"})["error"]
            self.assertEqual(refused["code"], 400)

    def test_a_server_as_typescript_makes_one_is_called(self):
        self.check(TypeScript)

    def test_a_server_as_dart_makes_one_is_called(self):
        self.check(Dart)

    def test_a_stream_reaches_the_dart_client_event_by_event(self):
        with serving(Dart) as url, toolmux(url) as base:
            events = follow_as_dart(base, "tail")
        self.assertEqual([name for name, _ in events], ["start", "data", "data", "data", "done"])
        self.assertEqual([data["result"]["text"] for _, data in events[1:4]], ["note 0", "note 1", "note 2"])

    def test_a_function_is_called_where_the_server_cannot_stream(self):
        with serving(TypeScript) as url, toolmux(url) as base:
            events = follow_as_dart(base, "tail")
        self.assertEqual([name for name, _ in events], ["start", "data", "done"])

    def test_tls_is_spoken_and_its_certificates_checked(self):
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE",
                "-keyout", "key.pem", "-out", "cert.pem"]
        subprocess.run(made, cwd=SCRATCH, check=True, stderr=subprocess.DEVNULL)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(SCRATCH / "cert.pem", SCRATCH / "key.pem")
        with serving(TypeScript, tls) as url:
            with toolmux(url, SSL_CERT_FILE=str(SCRATCH / "cert.pem")) as base:
                self.assertEqual(call(base, "read", {"id": 1})["result"], {"text": "é"})
            with toolmux(url) as base:
                self.assertEqual(ask(base, "/opentool/load"), {})


if __name__ == "__main__":
    unittest.main()
