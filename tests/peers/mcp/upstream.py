"""An MCP server on standard streams for tests: either era, and every kind of bad manners.

usage: upstream.py [legacy|modern|exits-on-discover] [mode...]
modes: noise (prints what is no message), babble (prints it all the time), alarm (tells of changed lists all the time),
mute (never answers), dead (ends at once), stubborn (ignores SIGTERM and the end of its input), paged (one tool per page),
sloppy (lists schemas that are none)
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

ERA = sys.argv[1] if len(sys.argv) > 1 else "legacy"
MODES = set(sys.argv[2:])
MODERN = "2026-07-28"
LOCK = threading.Lock()
ANSWERS = {}
CANCELLED = set()
LISTED = [0]
TOOLS_CHANGED = threading.Event()


def send(message):
    with LOCK:
        sys.stdout.write(json.dumps(message, separators=(",", ":"), ensure_ascii=False) + "\n")
        sys.stdout.flush()


def raw(text):
    with LOCK:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def tool(name, **more):
    schema = {"type": "object", "properties": {"text": {"type": "string"}, "n": {}}}
    return {"name": name, "description": name, "inputSchema": schema, **more}


def tools():
    listed = [
        tool("echo", title="Echo", icons=[{"src": "data:,x"}], execution={"taskSupport": "forbidden"},
             annotations={"readOnlyHint": True, "x-hint": 1}, **{"x-unknown": {"z": 1, "a": 2}}, _meta={"k": "v"}),
        tool("get.thing-é"),
        *[tool(name) for name in (
            "die", "huge", "wrong_id", "flood", "grandchild", "runaway", "strange", "steps", "ask", "hang", "params", "error",
            "grow", "cancelled", "pid", "listed")],
    ]
    if TOOLS_CHANGED.is_set():
        listed.append(tool("late"))
    if "sloppy" in MODES:
        listed += sloppy()
    return listed


def sloppy():
    """Tools whose schemas break the rules of JSON Schema, or are nested more deeply than most readers take."""
    deep = {"type": "integer"}
    for _ in range(100):
        deep = {"type": "object", "properties": {"a": deep}}
    schema = {"type": "object", "properties": {"n": {"type": "int", "required": True}}}
    return [{"name": "sloppy", "inputSchema": schema, "x-kept": 1}, {"name": "deep", "inputSchema": deep}]


def ask(method, params):
    """Asks the client, as the handshake era does."""
    key = f"s{len(ANSWERS) + 1}"
    ANSWERS[key] = [threading.Event(), None]
    send({"jsonrpc": "2.0", "id": key, "method": method, "params": params})
    ANSWERS[key][0].wait(20)
    return ANSWERS[key][1]


def text(value):
    return {"content": [{"type": "text", "text": value}]}


QUESTION = {"message": "Name?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}


def call(message, line):
    params = message["params"]
    name, arguments, meta = params["name"], params.get("arguments", {}), params.get("_meta", {})
    token = meta.get("progressToken")
    if name == "echo":
        return text(arguments.get("text", ""))
    if name == "die":
        os._exit(3)
    if name == "huge":
        return text("x" * 20_000_000)
    if name == "wrong_id":
        send({"jsonrpc": "2.0", "id": 999999, "result": text("whose?")})
        return None
    if name == "flood":
        for step in range(20_000):
            raw('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}'
                % (json.dumps(token if token is not None else 0), step))
        return text("dry")
    if name == "grandchild":
        child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
        return text(str(child.pid))
    if name == "runaway":
        # Out of our process group and, once the one in between has ended, out of our family.
        left = subprocess.run(["sh", "-c", "setsid sleep 1000 <&- >&- 2>&- & echo $!"], capture_output=True, text=True)
        return text(left.stdout.strip())
    if name == "strange":
        raw('{"jsonrpc":"2.0","id":%s,"result":{"x-first":12345678901234567890123,"content":[{"type":"hologram",'
            '"b":1.10,"a":{"k":null}}],"structuredContent":{"z":1e400,"a":"\\u00e9"},"_meta":{"m":[1,2]},'
            '"unknown":true}}' % json.dumps(message["id"]))
        return None
    if name == "steps":
        for step in (1, 2, 3):
            if token is not None:
                send({"jsonrpc": "2.0", "method": "notifications/progress",
                      "params": {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}})
        send({"jsonrpc": "2.0", "method": "notifications/message",
              "params": {"level": "warning", "logger": "steps", "data": {"half": True}}})
        return text("walked")
    if name == "ask" and ERA == "modern":
        if "io.modelcontextprotocol/clientCapabilities" not in meta:
            return text("no capabilities")
        if "elicitation" not in meta["io.modelcontextprotocol/clientCapabilities"]:
            return text("cannot be asked")
        if "inputResponses" in params and params.get("requestState") == "state-1":
            return text("hello " + params["inputResponses"]["who"]["content"]["name"])
        return {"resultType": "input_required", "requestState": "state-1", "x-kept": 1,
                "inputRequests": {"who": {"method": "elicitation/create", "params": QUESTION}}}
    if name == "ask":
        answer = ask("elicitation/create", QUESTION)
        if "error" in answer:
            return text("refused: " + answer["error"]["message"])
        return text("hello " + answer["result"].get("content", {}).get("name", answer["result"]["action"]))
    if name == "hang":
        time.sleep(1000)
    if name == "params":
        return text(line)
    if name == "error":
        raw('{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"no","data":{"b":1,"a":2}}}'
            % json.dumps(message["id"]))
        return None
    if name == "grow":
        TOOLS_CHANGED.set()
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return text("grown")
    if name == "listed":
        return text(str(LISTED[0]))
    if name == "pid":
        return text(str(os.getpid()))
    if name == "cancelled":
        return text(",".join(sorted(map(str, CANCELLED))))
    return text(f"unheard of: {name}")


def answer(message, line):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        version = params["protocolVersion"]
        return {"protocolVersion": version, "serverInfo": {"name": "upstream", "version": "1"},
                "capabilities": {"tools": {"listChanged": True}, "prompts": {}, "resources": {}, "completions": {}}}
    if method == "server/discover" and ERA == "modern":
        return {"resultType": "complete", "supportedVersions": [MODERN], "ttlMs": 0, "cacheScope": "public",
                "capabilities": {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}}
    if method == "tools/list":
        LISTED[0] += 1
        listed = tools()
        if "paged" not in MODES:
            return {"tools": listed}
        place = int(params.get("cursor") or 0)
        page = {"tools": listed[place:place + 1]}
        return page if place + 1 >= len(listed) else {**page, "nextCursor": str(place + 1)}
    if method == "tools/call":
        return call(message, line)
    if method == "prompts/list":
        return {"prompts": [{"name": "greet", "x-more": 1, "arguments": [{"name": "who"}]}]}
    if method == "prompts/get":
        return {"messages": [{"role": "user", "content": {"type": "text", "text": params["name"]}}], "x-kept": 1}
    if method == "resources/list":
        return {"resources": [{"uri": "test://one", "name": "one"}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "test://t/{id}", "name": "t"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "contents"}]}
    if method == "completion/complete":
        return {"completion": {"values": [params["ref"].get("name", "")]}}
    if method == "ping":
        return {}
    return "unknown"


def handle(message, line):
    result = answer(message, line)
    if result == "unknown":
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "unknown"}})
    elif result is not None:
        send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def repeat(line):
    while True:
        for _ in range(100):
            raw(line)
        time.sleep(0.001)


def main():
    if "babble" in MODES:
        threading.Thread(target=repeat, args=("What a nice day!",), daemon=True).start()
    if "alarm" in MODES:
        note = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
        threading.Thread(target=repeat, args=(note,), daemon=True).start()
    if "dead" in MODES:
        sys.exit("upstream: cannot start, no license")
    if "stubborn" in MODES:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        line = line.strip()
        if "mute" in MODES or not line:
            continue
        if "noise" in MODES:
            raw("Listening for messages...")
            raw('{"level":"info"}')
        message = json.loads(line)
        if message.get("method") == "server/discover" and ERA == "exits-on-discover":
            sys.exit(1)
        if "method" not in message:
            ANSWERS[message["id"]][1] = message
            ANSWERS[message["id"]][0].set()
        elif "id" in message:
            threading.Thread(target=handle, args=(message, line), daemon=True).start()
        elif message["method"] == "notifications/cancelled":
            CANCELLED.add(message["params"]["requestId"])
    while "stubborn" in MODES:
        time.sleep(1)


main()
