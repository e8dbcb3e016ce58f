"""Public OpenAPI documents from packages: how many operations become tools, how long that takes, and how much memory.

The peer suite runs it with the debug build. By hand, `TOOLMUX_BIN=target/release/toolmux NODE_PATH=…/node_modules python3
tests/peers/openapi/documents.py` judges time and memory too. The exit code is 1 when fewer than 99.5 % of the operations of a
document become tools, or when an optimised build needs more time or memory for GitHub's than it may.
"""

import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOOLMUX = os.environ["TOOLMUX_BIN"]
MODULES = Path(os.environ["NODE_PATH"])
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
SHARE = 0.995
GITHUB = MODULES / "@octokit/openapi/generated/api.github.com.json"
# With an optimised build.
MOST_SECONDS, MOST_MEGABYTES = 1.0, 150


def documents(scratch):
    """The documents in lists that one toolmux reads together; those written out without references are the same again."""
    examples = [path for path in sorted((MODULES / "@readme/oas-examples").rglob("*.*"))
                if path.suffix in (".json", ".yaml") and ".deref." not in path.name and operations(path)]
    yield [GITHUB]
    yield examples
    newest = max((MODULES / "kubernetes-client/lib/specs").glob("*.gz"))
    plain = scratch / newest.stem
    plain.write_bytes(gzip.decompress(newest.read_bytes()))
    yield [plain]


def operations(path):
    """How many operations a document has; for YAML, those of the JSON beside it. None for what is not a document."""
    twin = Path(str(path).replace("/yaml/", "/json/")).with_suffix(".json")
    if not twin.exists():
        return 0
    document = json.loads(twin.read_text())
    if not isinstance(document, dict) or ("openapi" not in document and "swagger" not in document):
        return 0
    items = (document.get("paths") or {}).values()
    return sum(method in METHODS for item in items if isinstance(item, dict) for method in followed(document, item))


def followed(document, item):
    for part in item.get("$ref", "").split("/")[1:]:
        document = document[part.replace("~1", "/").replace("~0", "~")]
    return document if "$ref" in item else item


def listed(paths, scratch):
    """What toolmux makes of documents: how many tools each has, reasons of those that are none, seconds, megabytes."""
    config = scratch / "documents.toml"
    tables = [
        f'[sources.D{index}]\nkind = "openapi"\ndocument = {json.dumps(str(path))}\n'
        'url = "https://api.example.com"\nheaders = { Authorization = "x" }\n'
        for index, path in enumerate(paths)
    ]
    config.write_text('store = "memory"\n[limits]\nlist_timeout = "3m"\n' + "".join(tables))
    out, err = scratch / "tools.json", scratch / "notes.txt"
    begun = time.monotonic()
    with out.open("w") as stdout, err.open("w") as stderr:
        running = subprocess.Popen([TOOLMUX, "tools", config, "--json"], stdout=stdout, stderr=stderr)
        _, _, usage = os.wait4(running.pid, 0)
    seconds, megabytes = time.monotonic() - begun, usage.ru_maxrss / 1024
    found = collections.Counter(tool["id"].split(".")[0] for tool in json.loads(out.read_text() or "[]"))
    reasons = []
    for line in err.read_text().splitlines():
        lost = re.match(r"not served: .* of (D\d+): ", line)
        # A scheme that is not configured is not a fault of the document.
        if lost and "configuration does not name" in line:
            found[lost.group(1)] += 1
        elif lost or line.startswith("source D"):
            reasons.append(line)
    return [found[f"D{index}"] for index in range(len(paths))], reasons, seconds, megabytes


def main(scratch):
    optimised = "/debug/" not in TOOLMUX
    failed, all_found, all_expected, count = [], 0, 0, 0
    for paths in documents(scratch):
        found, reasons, seconds, megabytes = listed(paths, scratch)
        expected = [operations(path) for path in paths]
        name = paths[0].name if len(paths) == 1 else f"{len(paths)} documents"
        print(f"{sum(found):5} of {sum(expected):5} operations, {seconds:6.2f} s, {megabytes:6.0f} MB  {name}", flush=True)
        for reason in reasons[:5]:
            print(f"        {reason}")
        few = [path.name for path, of, tools in zip(paths, expected, found) if tools < SHARE * of]
        failed += [f"{name}: too few operations are tools" for name in few]
        all_found, all_expected, count = all_found + sum(found), all_expected + sum(expected), count + len(paths)
        if paths == [GITHUB] and optimised and (seconds > MOST_SECONDS or megabytes > MOST_MEGABYTES):
            failed.append(f"{name}: {seconds:.2f} s, {megabytes:.0f} MB")
    print(f"{all_found} of {all_expected} operations in {count} documents are tools")
    for name in failed:
        print(f"failed: {name}")
    return 1 if failed or count < 100 else 0


if __name__ == "__main__":
    folder = os.environ.get("TOOLMUX_SCRATCH")
    sys.exit(main(Path(folder)) if folder else main(Path(tempfile.mkdtemp())))
