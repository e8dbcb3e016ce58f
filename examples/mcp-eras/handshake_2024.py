"""An MCP server of revision 2024-11-05: a handshake, then lines of JSON on the standard streams."""

import json
import os
import sys

REVISION = "2024-11-05"
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def answer(method, params):
    if method == "initialize":
        info = {"name": "greeter", "version": "1.0.0"}
        return {"protocolVersion": REVISION, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": "greet", "description": "Greets somebody", "inputSchema": NAME}]}
    if method == "tools/call":
        text = f"{os.environ.get('GREETING', 'Hello')}, {params['arguments']['name']}, from {REVISION}"
        return {"content": [{"type": "text", "text": text}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    reply = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
