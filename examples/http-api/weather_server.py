"""A small weather API: what a real one would be, with numbers that it makes up.

usage: weather_server.py HOST:PORT
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

ADDRESS = sys.argv[1]
CITIES = {"Rome": 21, "São Paulo": 26}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.split("/")]
        if self.headers["x-api-key"] != "weather-key":
            self.answer(401, {"error": "an x-api-key is needed"})
        elif parts[:3] == ["", "v1", "forecast"] and len(parts) == 4:
            days = int(parse_qs(url.query).get("days", ["1"])[0])
            degrees = CITIES.get(parts[3])
            if degrees is None:
                self.answer(404, {"error": f"no forecast for {parts[3]}"})
            else:
                self.answer(200, {"city": parts[3], "degrees": [degrees + day for day in range(days)]})
        else:
            self.answer(404, {"error": "no such path"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/v1/reports":
            self.answer(201, {"id": 7, **body})
        elif self.path == "/v1/graphql":
            names = sorted(CITIES)[: body["variables"]["first"]]
            self.answer(200, {"data": {"cities": [{"name": name} for name in names]}})
        else:
            self.answer(404, {"error": "no such path"})

    def answer(self, status, value):
        text = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


host, port = ADDRESS.split(":")
server = ThreadingHTTPServer((host, int(port)), Handler)
print(f"the weather is at http://{ADDRESS}/v1", flush=True)
server.serve_forever()
