"""An MCP server over stdio whose tools have what model vendors dislike."""

import json
import sys

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

TOOLS = [
    {"name": "draw", "description": "Draws " * 400, "inputSchema": {"type": "object"}},
    {"name": "sort", "description": "Sorts", "inputSchema": {"type": "object", "required": ["order"], "properties": {
        "order": {"type": "string", "enum": ["", "asc", "desc"]}, "anything": {}, "free": {"type": "object"},
        "number": {"anyOf": [{"type": "number"}, {"type": "string", "enum": ["NaN"]}]}}}},
]


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "gallery", "version": "1.0.0"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params["name"] == "draw":
        return {"content": [{"type": "text", "text": "a pixel"}, {"type": "image", "data": PIXEL, "mimeType": "image/png"}]}
    return {"content": [{"type": "text", "text": "sorted"}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
