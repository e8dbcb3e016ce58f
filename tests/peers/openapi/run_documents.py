"""Public OpenAPI documents from packages: how many operations become tools, how long that takes, and how much memory.

By hand: `TOOLMUX_BIN=target/release/toolmux python3 tests/peers/openapi/run_documents.py FOLDER` installs the packages into
FOLDER, unless they are there, and reads every document in them. The exit code is 1 when fewer than 99.5 % of the operations
of a document become tools, or when the largest one takes longer or more than it may.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

TOOLMUX = os.environ["TOOLMUX_BIN"]
PACKAGES = ["@octokit/openapi", "@readme/oas-examples"]
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
SHARE = 0.995
# Of GitHub's document, with an optimised build.
MOST_SECONDS, MOST_MEGABYTES = 1.0, 150


def install(folder):
    missing = [name for name in PACKAGES if not (folder / "node_modules" / name).exists()]
    if missing:
        subprocess.run(["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", *missing], check=True)


def documents(folder):
    """The documents of the packages that have operations; those written out without references are the same again."""
    for package in PACKAGES:
        for path in sorted((folder / "node_modules" / package).rglob("*")):
            is_document = path.suffix in (".json", ".yaml") and ".deref." not in path.name
            if is_document and path.name not in ("package.json", "tsconfig.json") and path.is_file():
                yield path


def operations(path):
    """How many operations a document has; for YAML, those of the JSON beside it."""
    twin = Path(str(path).replace("/yaml/", "/json/")).with_suffix(".json")
    if not twin.exists():
        return None
    document = json.loads(twin.read_text())
    if "openapi" not in document and "swagger" not in document:
        return None
    items = document.get("paths", {}).values()
    return sum(method in METHODS for item in items if isinstance(item, dict) for method in item)


def listed(path, scratch):
    """What toolmux makes of a document: tools, reasons of those that are none, seconds, megabytes."""
    config = scratch / "documents.toml"
    config.write_text(
        f'store = "memory"\n[sources.Api]\nkind = "openapi"\ndocument = {json.dumps(str(path))}\n'
        'url = "https://api.example.com"\nheaders = { Authorization = "x" }\n'
    )
    out, err = scratch / "tools.json", scratch / "notes.txt"
    begun = time.monotonic()
    with out.open("w") as stdout, err.open("w") as stderr:
        running = subprocess.Popen([TOOLMUX, "tools", config, "--json"], stdout=stdout, stderr=stderr)
        _, _, usage = os.wait4(running.pid, 0)
    seconds, megabytes = time.monotonic() - begun, usage.ru_maxrss / 1024
    tools = json.loads(out.read_text() or "[]")
    reasons = [line for line in err.read_text().splitlines() if line.startswith(("not served", "source Api"))]
    # A scheme that is not configured is not a fault of the document.
    unconfigured = [line for line in reasons if "configuration does not name" in line]
    return len(tools) + len(unconfigured), [line for line in reasons if line not in unconfigured], seconds, megabytes


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    install(folder)
    failed, all_found, all_expected = [], 0, 0
    for path in documents(folder):
        expected = operations(path)
        if not expected:
            continue
        found, reasons, seconds, megabytes = listed(path, folder)
        name = re.sub(r".*node_modules/", "", str(path))
        print(f"{found:5} of {expected:5} operations, {seconds:6.2f} s, {megabytes:6.0f} MB  {name}")
        for reason in reasons[:3]:
            print(f"        {reason}")
        all_found, all_expected = all_found + found, all_expected + expected
        if found < SHARE * expected:
            failed.append(name)
        if path.name == "api.github.com.json" and (seconds > MOST_SECONDS or megabytes > MOST_MEGABYTES):
            failed.append(f"{name}: {seconds:.2f} s, {megabytes:.0f} MB")
    print(f"{all_found} of {all_expected} operations are tools")
    for name in failed:
        print(f"failed: {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
