"""The smallest MCP client over stdio: greets a server and lists all its tools."""

import json
import os
import signal
import subprocess
import threading

REVISION = "2025-06-18"
LIMIT = 180


def tools(command, env, log):
    """The names of the server's tools, or `None` if it does not start or list within the limit."""
    with open(log, "w") as errors:
        server = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                  text=True, encoding="utf-8", start_new_session=True)
    # Ended with all it started: some servers are a shell script around the real one.
    watchdog = threading.Timer(LIMIT, os.killpg, (server.pid, signal.SIGKILL))
    watchdog.start()
    try:
        return listed(server)
    except (OSError, ValueError, KeyError):
        return None
    finally:
        watchdog.cancel()
        try:
            os.killpg(server.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        server.wait()


def listed(server):
    client = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "world", "version": "1.0.0"}}
    ask(server, 1, "initialize", client)
    write(server, {"method": "notifications/initialized"})
    names, cursor, page = [], None, 2
    while True:
        result = ask(server, page, "tools/list", {"cursor": cursor} if cursor else {})
        names += [tool["name"] for tool in result["tools"]]
        cursor, page = result.get("nextCursor"), page + 1
        if not cursor:
            return names


def ask(server, number, method, params):
    write(server, {"id": number, "method": method, "params": params})
    for line in server.stdout:
        # Some servers print a greeting of their own before they speak MCP.
        message = json.loads(line) if line.lstrip().startswith("{") else {}
        if "method" in message and "id" in message:
            answer = {"result": {}} if message["method"] == "ping" else {
                "error": {"code": -32601, "message": "not offered"}}
            write(server, {"id": message["id"], **answer})
        elif message.get("id") == number:
            return message["result"]
    raise ValueError("the server closed its output")


def write(server, message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()
