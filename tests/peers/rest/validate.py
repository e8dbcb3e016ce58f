"""The OpenAPI document of /rest, judged by programs of others: two validators, and schemathesis, which calls every tool by
it and compares each answer with it."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.request

from openapi_spec_validator import OpenAPIV31SpecValidator

HERE = pathlib.Path(__file__).parent
SCRATCH = pathlib.Path(os.environ["TOOLMUX_SCRATCH"])

CONFIG = f"""
[sources.Tricky]
kind = "mcp"
command = [{json.dumps(sys.executable)}, {json.dumps(str(HERE / "tricky.py"))}]

[sources.Calc]
kind = "command"

[sources.Calc.tools.say]
description = "Says a number"
command = ["echo", "{{a}}"]
parameters = {{ a = {{ type = "integer", minimum = 0 }} }}

[tools."Calc.say"]
name = "number"

[toolsets.calc]
tools = ["Calc.*"]
"""

JAVASCRIPT = """
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const require = createRequire(process.argv[3] + "/");
const { Validator } = await import(require.resolve("@seriousme/openapi-schema-validator"));
const result = await new Validator().validate(JSON.parse(readFileSync(process.argv[2], "utf8")));
if (!result.valid) { console.error(JSON.stringify(result.errors, null, 1).slice(0, 4000)); process.exit(1); }
"""


@contextlib.contextmanager
def serving(config):
    path = SCRATCH / "toolmux.toml"
    path.write_text(config)
    command = [os.environ["TOOLMUX_BIN"], "serve", str(path), "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"})
    try:
        for line in server.stderr:
            found = re.search(r"serves \d+ tools? on (http://\S+)", line)
            if found:
                yield found.group(1)
                break
        else:
            raise SystemExit("toolmux did not start")
    finally:
        server.terminate()
        server.communicate(timeout=30)


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


def validate(document, name):
    for error in OpenAPIV31SpecValidator(document).iter_errors():
        raise SystemExit(f"{name}: openapi-spec-validator: {error}")
    # This validator takes a parameter that is called `$ref` for a reference.
    document["paths"].pop("/Tricky_keywords", None)
    path = SCRATCH / f"{name}.json"
    path.write_text(json.dumps(document))
    script = SCRATCH / "validate.mjs"
    script.write_text(JAVASCRIPT)
    modules = next(folder for folder in os.environ["PATH"].split(os.pathsep) if folder.endswith("node_modules/.bin"))
    folder = str(pathlib.Path(modules).parent.parent)
    if subprocess.run(["node", str(script), str(path), folder], check=False).returncode:
        raise SystemExit(f"{name}: the validator of npm refuses it")


def fuzz(base):
    command = ["schemathesis", "run", f"{base}/rest/openapi.json", "--url", f"{base}/rest", "--max-examples", "25",
               "--seed", "1", "--no-color", "--generation-database", "none",
               "--include-path-regex", "Calc_number|Tricky_(itself|recursive|draft7|keywords)"]
    return subprocess.run(command, check=False, cwd=SCRATCH).returncode


if __name__ == "__main__":
    with serving(CONFIG) as base:
        whole = get(f"{base}/rest/openapi.json")
        if len(whole["paths"]) != 10:
            raise SystemExit(f"10 tools are described, not {sorted(whole['paths'])}")
        validate(whole, "whole")
        few = get(f"{base}/sets/calc/rest/openapi.json")
        if list(few["paths"]) != ["/Calc_number"] or few["servers"] != [{"url": "/sets/calc/rest"}]:
            raise SystemExit(f"the document of a toolset: {few['paths'].keys()} {few['servers']}")
        validate(few, "few")
        sys.exit(fuzz(base))
