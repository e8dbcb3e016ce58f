"""A model that needs no network: it answers as a recording of OpenAI's chat completions would.

It asks for the tools that `SCRIPT` says, one after another, with what it was told before, and then says the last result.

usage: replay_model.py HOST:PORT
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCRIPT = [
    ("Math_pow", lambda results: {"x": 2, "y": 10}),
    ("Math_sqrt", lambda results: {"x": json.loads(results[-1])["result"]}),
]


def reply(messages):
    results = [message["content"] for message in messages if message["role"] == "tool"]
    if len(results) == len(SCRIPT):
        return {"role": "assistant", "content": f"The answer is {json.loads(results[-1])['result']:g}."}
    name, arguments = SCRIPT[len(results)]
    function = {"name": name, "arguments": json.dumps(arguments(results))}
    call = {"id": f"call_{len(results) + 1}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        offered = {tool["function"]["name"] for tool in request["tools"]}
        assert all(name in offered for name, _ in SCRIPT), offered
        body = json.dumps({"choices": [{"message": reply(request["messages"])}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


host, port = sys.argv[1].rsplit(":", 1)
server = ThreadingHTTPServer((host, int(port)), Handler)
print(f"the replay model serves on http://{sys.argv[1]}", flush=True)
server.serve_forever()
