"""Real MCP servers, each alone and then all behind one toolmux: every tool must be listed there too.

Run by hand as `cargo xtask world`; the arguments are names of servers, all of them when there is none.
"""

import json
import os
import pathlib
import re
import sys
import time
import tomllib
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True

import direct
from install import installed
from serving import SCRATCH, toolmux

CACHE = pathlib.Path(os.environ.get("TOOLMUX_WORLD", SCRATCH.parent / "servers"))
# Fewer servers that start by themselves than this is a failure too: the list has grown old.
FEWEST = 60
# Dozens of servers that start at once on a few cores take minutes.
PATIENCE = 900


def prepared(name, server):
    """The command and the environment of one server."""
    programs = installed(CACHE, name, server)
    if programs is None:
        return None
    own = SCRATCH / name
    own.mkdir()
    fill = lambda text: text.replace("{scratch}", str(own))
    env = {key: fill(value) for key, value in server.get("env", {}).items()}
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    command = [str(programs / server["run"][0]), *map(fill, server["run"][1:])]
    return command, {"PATH": path, "HOME": str(own), **env}


def alone(servers):
    """The tools of each server, asked directly; those that do not start by themselves are left out."""
    found = {}
    for name, (command, env) in servers.items():
        names = direct.tools(command, env, SCRATCH / f"{name}.log")
        print(f"{name}: {'does not start by itself' if names is None else len(names)}", flush=True)
        if names:
            found[name] = names
    return found


def table(command, env):
    pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in env.items())
    return [f"command = {json.dumps(command)}", f"env = {{ {pairs} }}"]


def listed(url):
    """The names of all tools, page by page."""
    names, params = set(), {}
    while True:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}).encode()
        with urllib.request.urlopen(urllib.request.Request(url, body)) as answer:
            result = json.load(answer)["result"]
        names |= {tool["name"] for tool in result["tools"]}
        if not result.get("nextCursor"):
            return names
        params = {"cursor": result["nextCursor"]}


def lost(found, served):
    """The tools of each server that are not served. Names too long or with other characters are counted only. There
    may be more: some servers offer tools only to clients that answer questions, as toolmux does."""
    gone = {}
    for name, names in found.items():
        here = {flat for flat in served if flat.startswith(f"{name}_")}
        plain = {f"{name}_{tool}" for tool in names if re.fullmatch(r"[A-Za-z0-9_-]+", tool)}
        missing = {flat for flat in plain if len(flat) <= 64} - here
        if missing or len(here) < len(names):
            gone[name] = sorted(missing) or [f"{len(names) - len(here)} of {len(names)}"]
    return gone


def through(servers, found):
    """What is lost when all of them stand behind one toolmux."""
    sources = {name: table(*servers[name]) for name in found}
    with toolmux(sources, more='\n[limits]\nlist_timeout = "600s"\n') as base:
        ends = time.monotonic() + PATIENCE
        while (gone := lost(found, listed(f"{base}/mcp"))) and time.monotonic() < ends:
            time.sleep(5)
    return gone


def main():
    wanted = sys.argv[1:]
    listing = tomllib.loads((HERE / "servers.toml").read_text())
    chosen = {name: server for name, server in listing.items() if not wanted or name in wanted}
    prepared_or_none = {name: prepared(name, server) for name, server in chosen.items()}
    servers = {name: one for name, one in prepared_or_none.items() if one}
    found = alone(servers)
    gone = through(servers, found)
    print(f"{'server':24} {'package':52} {'alone':>5} lost")
    for name, names in found.items():
        package = chosen[name].get("npm") or chosen[name]["pypi"]
        print(f"{name:24} {package:52} {len(names):5} {', '.join(gone.get(name, [])) or '-'}")
    tools = sum(map(len, found.values()))
    print(f"{len(found)} servers, {tools} tools; {len(gone)} servers lost tools behind toolmux")
    left_out = [name for name in chosen if name not in found]
    if left_out:
        print(f"not compared, because they do not start by themselves: {', '.join(left_out)}")
    sys.exit(1 if gone or (not wanted and len(found) < FEWEST) else 0)


main()
