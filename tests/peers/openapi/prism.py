"""Prism judges the requests that we send: its mock server of a document refuses each that does not fit the document. Every
operation of the documents is called, with arguments made of the schema of its tool."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request

from toolmux import SCRATCH, call, running, serving

EXAMPLES = pathlib.Path(os.environ["NODE_PATH"]) / "@readme/oas-examples"
DOCUMENTS = {
    "Pets2": "2.0/json/petstore.json",
    "Pets3": "3.0/json/petstore.json",
    "Trains": "3.1/json/train-travel.json",
    "Styles": "3.0/json/parameters-style.json",
    "Files": "3.0/json/file-uploads.json",
    "Common": "3.0/json/parameters-common.json",
}
# A fault of the request, as Prism names it. That it finds no answer to make up is none.
FAULTS = ("#UNPROCESSABLE_ENTITY", "#UNSUPPORTED_MEDIA_TYPE", "#NO_PATH_MATCHED", "#NO_METHOD_MATCHED", "#INVALID_CONTENT_TYPE",
          "#NO_BASE_URL_MATCHED", "#UNAUTHORIZED", "#NO_SERVER_MATCHED")
# Prism keeps one of several parts of a name, and then misses the array. Their bytes are read back by the tests of `http_request`.
NOT_JUDGED = {"Files_put_anything_multipart-formdata"}
FORMATS = {"date-time": "2024-05-06T07:08:09Z", "date": "2024-05-06", "uuid": "0188d4b3-6a51-7b4e-8a38-5c4b8c2a3f10",
           "email": "a@example.com", "uri": "https://example.com/a", "byte": "YQ==", "ipv4": "192.0.2.1"}


def sample(schema, root, depth=0):
    """A value that fits a schema of the documents above."""
    if not isinstance(schema, dict):
        return "any"
    if "$ref" in schema:
        return sample({**root["$defs"][schema["$ref"].split("/")[-1]], **{k: v for k, v in schema.items() if k != "$ref"}}, root, depth)
    if "allOf" in schema:
        parts = [sample(part, root, depth) for part in schema["allOf"]]
        own = sample({k: v for k, v in schema.items() if k != "allOf"}, root, depth) if "properties" in schema else {}
        return {k: v for part in [*parts, own] if isinstance(part, dict) for k, v in part.items()} or parts[0]
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    for word in ("enum", "examples"):
        if schema.get(word):
            return schema[word][0]
    if schema.get("anyOf"):
        return sample(schema["anyOf"][0], root, depth)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        members = schema.get("properties", {})
        wanted = schema.get("required", []) if depth > 3 else members
        return {name: sample(members[name], root, depth + 1) for name in wanted if name in members}
    if kind == "array":
        count = 1 if schema.get("uniqueItems") else min(2, schema.get("maxItems", 2))
        return [sample(schema.get("items", {}), root, depth + 1)] * count if depth < 6 else []
    if kind in ("integer", "number"):
        return schema.get("minimum", 3)
    plain = "aGVsbG8=" if schema.get("contentEncoding") == "base64" else "hello"
    return {"boolean": True, "null": None}.get(kind, FORMATS.get(schema.get("format"), plain.ljust(schema.get("minLength", 0), "x")))


def tools(config):
    """The tools of a configuration, by their names."""
    path = SCRATCH / "listed.toml"
    path.write_text(f'store = "memory"\n{config}')
    listed = subprocess.run([os.environ["TOOLMUX_BIN"], "tools", path, "--json"], check=True, capture_output=True)
    return {tool["name"]: tool["input_schema"] for tool in json.loads(listed.stdout)}


def is_a_judge(address):
    """It must refuse what is wrong: a pet without what the document requires."""
    request = urllib.request.Request(f"{address}/pet", b'{"name": 1}', {"content-type": "application/json", "authorization": "Bearer x"})
    try:
        urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        return "UNPROCESSABLE" in error.read().decode()
    return False


def main():
    judged, refused = 0, []
    with contextlib.ExitStack() as stack:
        config = ""
        for name, path in DOCUMENTS.items():
            command = ["prism", "mock", "--errors", "--port", "0", str(EXAMPLES / path)]
            address = stack.enter_context(running(command, r"listening on (http://[^\s\x1b]+)"))
            if name == "Pets3" and not is_a_judge(address):
                raise SystemExit("Prism accepts a pet that is none")
            config += (f'[sources.{name}]\nkind = "openapi"\ndocument = {json.dumps(str(EXAMPLES / path))}\nurl = "{address}"\n'
                       'headers = { Authorization = "Bearer x", api_key = "x" }\n')
        base = stack.enter_context(serving("prism", config))
        for tool, schema in tools(config).items():
            if tool in NOT_JUDGED:
                continue
            arguments = sample(schema, schema)
            status, value = call(base, tool, arguments)
            judged += 1
            if status == 422 or any(fault in str(value) for fault in FAULTS):
                refused.append(f"{tool} {json.dumps(arguments)}\n  {status} {str(value)[:1500]}")
    print(f"Prism accepts {judged - len(refused)} of {judged} requests")
    for line in refused:
        print(line)
    return 1 if refused or judged < 79 else 0


if __name__ == "__main__":
    sys.exit(main())
