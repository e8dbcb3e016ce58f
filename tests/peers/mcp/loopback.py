"""An MCP server on standard streams for the contract of sources.

usage: loopback.py FOLDER ERA
FOLDER gets the file `server` with our process id, and `slow` with that of a child that runs while the tool `slow` does. The
tool `leaves` is gone once there is a file `shrunk`. ERA is legacy or modern.
"""

import json
import os
import subprocess
import sys

FOLDER, ERA = sys.argv[1:3]
NUMBERS = {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
SLOW = {}


def write(name, text):
    with open(os.path.join(FOLDER, name), "w") as file:
        file.write(text)


def names():
    shrunk = os.path.exists(os.path.join(FOLDER, "shrunk"))
    return ["add", "fail", "slow"] + ([] if shrunk else ["leaves"])


def tool(name):
    return {"name": name, "description": name, "inputSchema": NUMBERS if name == "add" else {"type": "object"}}


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def call(id, params):
    name, arguments = params["name"], params.get("arguments", {})
    if name not in names():
        return {"error": {"code": -32602, "message": f"Unknown tool: {name}"}}
    if name == "slow":
        SLOW[id] = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        write("slow", str(SLOW[id].pid))
        return None
    if name == "add":
        return {"result": text(str(arguments["a"] + arguments["b"]))}
    if name == "fail":
        return {"result": text("It is not there", isError=True)}
    return {"result": text("here")}


def cancel(id):
    running = SLOW.pop(id, None)
    if running:
        running.kill()
        running.wait()


def greet(method):
    told = {"capabilities": {"tools": {}}}
    info = {"name": "loopback", "version": "1"}
    if method == "initialize":
        return {"result": {"protocolVersion": "2025-11-25", "serverInfo": info, **told}}
    if ERA == "modern":
        return {"result": {"supportedVersions": ["2026-07-28"], **told}}
    return {"error": {"code": -32601, "message": "unknown"}}


def answer(id, method, params):
    if method in ("initialize", "server/discover"):
        return greet(method)
    if method == "tools/list":
        return {"result": {"tools": [tool(name) for name in names()]}}
    if method == "tools/call":
        return call(id, params)
    return {"error": {"code": -32601, "message": "unknown"}}


def main():
    write("server", str(os.getpid()))
    for line in sys.stdin:
        message = json.loads(line)
        id, method, params = message.get("id"), message.get("method"), message.get("params", {})
        if method == "notifications/cancelled":
            cancel(params["requestId"])
        if id is None or method is None:
            continue
        said = answer(id, method, params)
        if said is None:
            continue
        if ERA == "modern" and "result" in said:
            said["result"]["resultType"] = "complete"
        print(json.dumps({"jsonrpc": "2.0", "id": id, **said}), flush=True)


main()
