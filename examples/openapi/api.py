"""A small HTTP API that describes itself by an OpenAPI document, on Python's own HTTP server."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

DOCUMENT = Path(__file__).with_name("openapi.json").read_bytes()
NOTES = {1: {"id": 1, "text": "water the plants", "tags": ["home"]}}
KEY = "demo-key"


class Notes(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value=None):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def note(self, path):
        number = unquote(path.removeprefix("/notes/"))
        return NOTES.get(int(number)) if number.isdigit() else None

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/openapi.json":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(DOCUMENT)))
            self.end_headers()
            self.wfile.write(DOCUMENT)
        elif url.path == "/notes":
            wanted = parse_qs(url.query).get("tag", [])
            self.answer(200, [note for note in NOTES.values() if all(tag in note["tags"] for tag in wanted)])
        elif note := self.note(url.path):
            self.answer(200, note)
        else:
            self.answer(404, {"message": "there is no such note"})

    def do_POST(self):
        note = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = max(NOTES, default=0) + 1
        NOTES[number] = {"id": number, "text": note["text"], "tags": note.get("tags", [])}
        self.answer(201, NOTES[number])

    def do_DELETE(self):
        if self.headers.get("X-Api-Key") != KEY:
            self.answer(401, {"message": "the key is missing"})
        elif note := self.note(self.path):
            del NOTES[note["id"]]
            self.answer(204)
        else:
            self.answer(404, {"message": "there is no such note"})


host, port = sys.argv[1].split(":")
with ThreadingHTTPServer((host, int(port)), Notes) as server:
    print(f"notes are at http://{host}:{port}/notes", flush=True)
    server.serve_forever()
