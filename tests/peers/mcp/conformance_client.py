"""The client that the official suite measures: toolmux in front of the suite's own server, asked by a caller that
calls every tool it finds, accepts every question and allows every token. usage: conformance_client.py URL"""

import http.cookiejar
import json
import os
import pathlib
import re
import sys
import tempfile
import time
import urllib.error
import urllib.request

import serving

URL = sys.argv[-1]
MODERN = "2026-07-28"
VERSION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", MODERN)
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
META = "io.modelcontextprotocol/"
TABLE = ['names = "bare"', f"url = {json.dumps(URL)}", *(['era = "legacy"'] if VERSION != MODERN else [])]
CAPABILITIES = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


def ask(base, method, params):
    """One request of 2026-07-28, whatever era is behind."""
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": CAPABILITIES}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}})
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream",
               "mcp-protocol-version": MODERN, "mcp-method": method, **mirrored(params)}
    request = urllib.request.Request(f"{base}/mcp", body.encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return last(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


def last(answer):
    text = answer.read().decode()
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = [line[5:] for line in text.splitlines() if line.startswith("data:")][-1]
    return json.loads(text)


def mirrored(params):
    headers = {"mcp-name": params["name"]} if "name" in params else {}
    for name, schema in SCHEMAS.get(params.get("name"), {}).get("properties", {}).items():
        value = params.get("arguments", {}).get(name)
        if "x-mcp-header" in schema and value is not None:
            headers["mcp-param-" + schema["x-mcp-header"]] = encoded(value)
    return headers


def encoded(value):
    text = value if isinstance(value, str) else json.dumps(value)
    plain = text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?")
    return text if plain else serving.base64_header(text)


def example(schema, name=""):
    """A value that a schema allows."""
    kind = schema.get("type")
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {key: example(of) for key, of in schema.get("properties", {}).items()}
    return {"integer": 3, "number": 1.5, "boolean": True, "array": [], "null": None}.get(kind, "text")


def said(question):
    """The answer of a caller that accepts everything as it is offered."""
    if question["method"] == "elicitation/create":
        schema = question["params"].get("requestedSchema", {})
        given = {key: example(of) for key, of in schema.get("properties", {}).items()}
        return {"action": "accept", "content": given}
    if question["method"] == "sampling/createMessage":
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}}
    return {"roots": [{"uri": "file:///tmp", "name": "tmp"}]}


def call(base, name, arguments):
    """Calls, and answers questions until there are none."""
    params = {"name": name, "arguments": arguments}
    for _ in range(5):
        answer = ask(base, "tools/call", params)
        result = answer.get("result", {})
        if result.get("resultType") != "input_required":
            return answer
        answers = {key: said(question) for key, question in result.get("inputRequests", {}).items()}
        params = {"name": name, "arguments": arguments, "inputResponses": answers}
        if "requestState" in result:
            params["requestState"] = result["requestState"]
    return answer


def listed(base, good=bool, patience=15):
    """The tools, as soon as there are such: with many servers at a time one may be late."""
    ends = time.monotonic() + patience
    while True:
        tools = ask(base, "tools/list", {})["result"]["tools"]
        if good(tools) or time.monotonic() > ends:
            return tools
        time.sleep(0.2)


def allow(answer):
    """Plays the user's browser: opens the address that an answer holds, goes on by the form of the page, and follows
    it to the end. False when there is none."""
    found = re.search(r'http://[^"\\s]+/auth/start/[0-9a-f]+', json.dumps(answer))
    if not found:
        return False
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    try:
        with browser.open(found.group(0), timeout=60) as page:
            form = re.search(r'name="form" value="([0-9a-f]+)"', page.read().decode()).group(1)
        with browser.open(found.group(0), f"form={form}".encode(), timeout=60) as page:
            print("allowed:", page.status, file=sys.stderr)
    except urllib.error.HTTPError as error:
        print("not allowed:", error.read().decode()[-600:], file=sys.stderr)
    return True


def authorized(base, name, arguments, most=3):
    """Calls, and allows what is asked for as often as a patient user would."""
    for _ in range(most):
        answer = ask(base, "tools/call", {"name": name, "arguments": arguments})
        print(json.dumps(answer), file=sys.stderr)
        result = answer.get("result", {})
        if result.get("resultType") == "complete" and not result.get("isError"):
            return True
        if not allow(answer):
            return False
    return False


def with_tokens():
    """A protected server: the user allows a token, the tools appear, the one of the suite is called."""
    def has_tool(tools):
        return any(tool["name"] == "test-tool" for tool in tools)

    authorization, more = "{}", ""
    if {"issuer", "client_id", "client_secret"} <= CONTEXT.keys():
        authorization = '{ provider = "known" }'
        more = f"""[auth.providers.known]
issuer = {json.dumps(CONTEXT["issuer"])}
client_id = {json.dumps(CONTEXT["client_id"])}
client_secret = {json.dumps(CONTEXT["client_secret"])}
"""
    with serving.toolmux({"Up": [*TABLE, f"authorization = {authorization}"]}, more=more) as base:
        listed(base)
        if authorized(base, "authorize", {}) and has_tool(listed(base, has_tool)):
            authorized(base, "test-tool", {})


def main():
    serving.SCRATCH = pathlib.Path(tempfile.mkdtemp())
    if SCENARIO.startswith("auth/"):
        return with_tokens()
    with serving.toolmux({"Up": TABLE}) as base:
        tools = listed(base)
        print(json.dumps(tools), file=sys.stderr)
        SCHEMAS.update({tool["name"]: tool["inputSchema"] for tool in tools})
        wanted = CONTEXT.get("toolCalls") or [
            {"name": tool["name"], "arguments": example(tool["inputSchema"])} for tool in tools]
        if "json_schema_echo" in SCHEMAS:
            wanted = [{"name": "json_schema_echo", "arguments": {"schema": SCHEMAS["json_schema_2020_12_tool"]}}]
        for one in wanted:
            # What has no value is left out: toolmux lets no null through where the schema says boolean.
            given = {key: value for key, value in one.get("arguments", {}).items() if value is not None}
            print(json.dumps(call(base, one["name"], given)), file=sys.stderr)


SCHEMAS = {}
main()
