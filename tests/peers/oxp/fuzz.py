"""schemathesis against the OpenAPI document that toolmux serves: no 5xx, no answer outside the document."""

import json
import os
import pathlib
import subprocess
import sys
import urllib.request

from server import serving

CONFIG = """
[sources.Calc]
kind = "command"

[sources.Calc.tools.add]
description = "Adds two numbers"
command = ["echo", "{a}"]
parameters = { a = { type = "integer" }, b = { type = "integer" } }

[sources.Calc.tools.now]
description = "Takes nothing"
command = ["date"]
"""

# Whether a made-up tool exists, and what it takes, is no matter of the document: 400 and 422 are right
# answers to requests that fit it.
LEFT_OUT = "positive_data_acceptance"


def run(document, base):
    command = [
        "schemathesis", "run", document, "--url", base, "--exclude-checks", LEFT_OUT,
        "--max-examples", "60", "--seed", "1", "--no-color", "--generation-database", "none",
    ]
    return subprocess.run(command, check=False, cwd=os.environ["TOOLMUX_SCRATCH"]).returncode


def of_real_tools(base):
    """The same document with the ids of tools that exist, so that calls reach them."""
    with urllib.request.urlopen(f"{base}/openapi.json") as answer:
        document = json.load(answer)
    with urllib.request.urlopen(f"{base}/tools") as answer:
        ids = [item["id"] for item in json.load(answer)["items"]]
    document["components"]["schemas"]["ToolId"] = {"type": "string", "enum": ids}
    path = pathlib.Path(os.environ["TOOLMUX_SCRATCH"]) / "openapi.json"
    path.write_text(json.dumps(document))
    return str(path)


if __name__ == "__main__":
    with serving(CONFIG) as base:
        any_tool = run(f"{base}/openapi.json", base)
        sys.exit(any_tool or run(of_real_tools(base), base))
