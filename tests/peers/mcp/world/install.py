"""Installs the servers of `servers.toml`, one after another, each into a folder of its own."""

import os
import shutil
import subprocess

# Nothing here drives a browser: the servers only list their tools.
QUIET = {"PUPPETEER_SKIP_DOWNLOAD": "1", "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1", "CI": "1",
         # The certificates of the system are those that npm trusts too.
         "UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1", "UV_PYTHON_DOWNLOADS": "never"}
LIMIT = 900


def npm(folder, packages):
    (folder / "package.json").write_text('{"private":true}')
    install = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *packages]
    # Some packages download a browser when they are installed, which not every network has.
    return succeeds(install, folder) or succeeds([*install, "--ignore-scripts"], folder)


def pypi(folder, packages):
    install = ["uv", "pip", "install", "--quiet", "--python", "bin/python", *packages]
    return succeeds(["uv", "venv", "--quiet", "--clear", "."], folder) and succeeds(install, folder)


def installed(cache, name, server):
    """The folder with the server's programs; `None` if its packages cannot be installed."""
    folder = cache / name
    programs = folder / ("node_modules/.bin" if "npm" in server else "bin")
    packages = [server.get("npm") or server["pypi"], *server.get("with", [])]
    recipe, stamp = " ".join(packages), folder / ".made-from"
    if stamp.is_file() and stamp.read_text() == recipe:
        return programs
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print(f"installing {recipe}", flush=True)
    if not (npm if "npm" in server else pypi)(folder, packages):
        return None
    stamp.write_text(recipe)
    return programs


def succeeds(command, folder):
    try:
        ended = subprocess.run(command, cwd=folder, env={**os.environ, **QUIET}, stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        print(f"  took longer than {LIMIT} s", flush=True)
        return False
    if ended.returncode != 0:
        print("  " + "\n  ".join(ended.stderr.strip().splitlines()[-5:]), flush=True)
    return ended.returncode == 0
