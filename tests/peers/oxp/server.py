"""Starts the built toolmux on a free port for one suite, and ends it."""

import contextlib
import os
import pathlib
import re
import subprocess


@contextlib.contextmanager
def serving(config, env=None):
    """Serves a configuration; gives the address. The server says on stderr where it listens."""
    scratch = pathlib.Path(os.environ["TOOLMUX_SCRATCH"])
    path = scratch / "toolmux.toml"
    path.write_text(config)
    command = [os.environ["TOOLMUX_BIN"], "serve", str(path), "--listen", "127.0.0.1:0"]
    with open(scratch / "toolmux.log", "w+") as log:
        server = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}
        )
        try:
            for line in server.stderr:
                log.write(line)
                found = re.search(r"serves \d+ tools? on (http://\S+)", line)
                if found:
                    yield found.group(1)
                    break
            else:
                log.seek(0)
                raise SystemExit("toolmux did not start:\n" + log.read())
        finally:
            server.terminate()
            server.communicate(timeout=30)
