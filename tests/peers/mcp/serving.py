"""Starts the toolmux under test in front of given sources."""

import base64
import contextlib
import json
import os
import pathlib
import re
import subprocess
import time
import urllib.request

BIN = os.environ.get("TOOLMUX_BIN", "toolmux")
ROOT = pathlib.Path(os.environ.get("TOOLMUX_ROOT", "."))
SCRATCH = pathlib.Path(os.environ.get("TOOLMUX_SCRATCH", "."))
HERE = pathlib.Path(__file__).resolve().parent


@contextlib.contextmanager
def toolmux(sources, name="toolmux", more=""):
    """The base address of a server with these MCP sources, `{name: table}`, tables as TOML lines, and more TOML."""
    lines = ['listen = "127.0.0.1:0"', 'store = "memory"']
    for source, table in sources.items():
        lines += ["", f"[sources.{source}]", 'kind = "mcp"', *table]
    config = SCRATCH / f"{name}.toml"
    config.write_text("\n".join(lines) + "\n" + more)
    server = subprocess.Popen([BIN, "serve", str(config)], stderr=subprocess.PIPE, text=True)
    try:
        seen = []
        for line in server.stderr:
            seen.append(line)
            found = re.search(r"serves \d+ tools? on (http://\S+)", line)
            if found:
                break
        else:
            raise SystemExit("toolmux did not start:\n" + "".join(seen))
        # What it says later must not fill the pipe.
        with open(SCRATCH / f"{name}.log", "w") as log:
            drain = subprocess.Popen(["cat"], stdin=server.stderr, stdout=log)
        yield found.group(1)
    finally:
        server.terminate()
        server.wait(20)
        drain.wait(20)


def base64_header(text):
    """A header value that plain text cannot be."""
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def appeared(url, names, patience=90):
    """Waits until tools of these names are listed: servers on a busy machine take long to start."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    ends = time.monotonic() + patience
    while time.monotonic() < ends:
        with urllib.request.urlopen(urllib.request.Request(url, body)) as answer:
            listed = {tool["name"] for tool in json.load(answer)["result"]["tools"]}
        if names <= listed:
            return
        time.sleep(0.5)
    raise SystemExit(f"{sorted(names - listed)} did not appear")
