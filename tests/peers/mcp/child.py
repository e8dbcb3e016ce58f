"""An MCP server on standard streams, for tests of how it is started and of what becomes of its calls.

usage: child.py FOLDER ERA MODE
FOLDER has a line in `starts` for each start and one in `runs` for each run of the tool. ERA is legacy or modern.
MODE says what becomes of the tool `t`: good, unread (ends before it runs), silent (runs and ends), half (ends within its
answer), garbage, foreign (answers another request), long, shut (closes its output); and of the server: slow (reads
nothing before there is a file `go`), once (starts only the first time), fails (never starts).
The tools `die`, `pid` and `roots` do what their names say.
"""

import json
import os
import sys
import time

FOLDER, ERA, MODE = sys.argv[1:4]
INFO = {"io.modelcontextprotocol/serverInfo": {"name": "child", "version": "1"}}


def note(name):
    with open(os.path.join(FOLDER, name), "a") as file:
        file.write("x\n")


def count(name):
    try:
        with open(os.path.join(FOLDER, name)) as file:
            return len(file.readlines())
    except FileNotFoundError:
        return 0


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def answer(id, result):
    if ERA == "modern":
        result = {"resultType": "complete", **result, "_meta": INFO}
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result})


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def ask(method):
    say(json.dumps({"jsonrpc": "2.0", "id": "question", "method": method}))
    while True:
        message = json.loads(sys.stdin.readline())
        if "method" not in message:
            return json.dumps(message.get("result", message.get("error")))


def run(id):
    if MODE == "unread":
        os._exit(1)
    note("runs")
    good = answer(id, text("ok"))
    if MODE == "silent":
        os._exit(1)
    elif MODE == "half":
        sys.stdout.write(good[:30])
        sys.stdout.flush()
        os._exit(1)
    elif MODE == "garbage":
        say("<html>")
    elif MODE == "foreign":
        say(answer(999999, text("ok")))
    elif MODE == "long":
        say(answer(id, text("x" * 100_000)))
    elif MODE == "shut":
        os.close(1)
        time.sleep(30)
    else:
        say(good)


def call(id, name):
    if name == "die":
        os._exit(3)
    elif name == "pid":
        say(answer(id, text(str(os.getpid()))))
    elif name == "roots":
        say(answer(id, text(ask("roots/list"))))
    else:
        run(id)


def greet(id, method):
    told = {"capabilities": {"tools": {}}, "instructions": "Use me gently."}
    if method == "initialize":
        say(answer(id, {"protocolVersion": "2025-11-25", "serverInfo": {"name": "child", "version": "1"}, **told}))
    elif ERA == "modern":
        say(answer(id, {"supportedVersions": ["2026-07-28"], **told}))
    else:
        say(json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "unknown"}}))


def main():
    note("starts")
    if MODE == "fails" or (MODE == "once" and count("starts") > 1):
        sys.exit("child: cannot start")
    while MODE == "slow" and not os.path.exists(os.path.join(FOLDER, "go")):
        time.sleep(0.01)
    for line in sys.stdin:
        message = json.loads(line)
        id, method = message.get("id"), message.get("method")
        if id is None or method is None:
            continue
        if method in ("initialize", "server/discover"):
            greet(id, method)
        elif method == "tools/list":
            schema = {"type": "object"}
            say(answer(id, {"tools": [{"name": n, "inputSchema": schema} for n in ("t", "die", "pid", "roots")]}))
        else:
            call(id, message["params"]["name"])


main()
