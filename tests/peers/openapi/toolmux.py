"""A toolmux that serves one configuration, called over /rest."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import urllib.error
import urllib.request

SCRATCH = pathlib.Path(os.environ["TOOLMUX_SCRATCH"])


@contextlib.contextmanager
def running(command, ready, **options):
    """A server, and what stands in parentheses in the line that says that it is ready."""
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    seen = []
    try:
        for line in server.stdout:
            seen.append(line)
            found = re.search(ready, line)
            if found:
                yield found.group(1)
                break
        else:
            raise SystemExit(f"{command[0]} did not start: {''.join(seen)[-2000:]}")
    finally:
        server.terminate()
        server.communicate(timeout=30)


@contextlib.contextmanager
def serving(name, config):
    """The address of a toolmux with this configuration."""
    path = SCRATCH / f"{name}.toml"
    path.write_text(f'store = "memory"\n[limits]\nlist_timeout = "1m"\n{config}')
    command = [os.environ["TOOLMUX_BIN"], "serve", str(path), "--listen", "127.0.0.1:0"]
    environment = {**os.environ, "NO_COLOR": "1"}
    with running(command, r"serves \d+ tools? on (http://\S+)", env=environment) as base:
        yield base


def call(base, tool, arguments):
    """Status and value of a call."""
    body = json.dumps(arguments).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{base}/rest/{tool}", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            text, status = answer.read().decode(), answer.status
    except urllib.error.HTTPError as error:
        text, status = error.read().decode(), error.code
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


def expect(what, found, wanted):
    if found != wanted:
        raise SystemExit(f"{what}:\n  expected {wanted!r}\n  received {found!r}")
