"""An MCP server on standard streams whose tools have schemas that readers of OpenAPI find hard; a call gives back its
arguments."""

import json
import sys

NODE = {"type": "object", "required": ["value"],
        "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}

TOOLS = {
    "recursive": {"type": "object", "properties": {"list": {"$ref": "#/$defs/node"}}, "$defs": {"node": NODE}},
    "itself": {"type": "object", "properties": {"name": {"type": "string"}, "child": {"$ref": "#"}},
               "additionalProperties": False},
    "pointer": {"type": "object", "properties": {
        "a b/c": {"type": "integer"}, "same": {"$ref": "#/properties/a%20b~1c"}}},
    "anchors": {"$id": "https://example.com/anchors", "type": "object", "properties": {
        "a": {"$ref": "#word"}, "b": {"$ref": "other"}},
        "$defs": {"w": {"$anchor": "word", "type": "string"}, "o": {"$id": "other", "items": {"$ref": "#"}}}},
    "draft7": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {
        "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False},
        "d": {"$ref": "#/definitions/some name"}}, "definitions": {"some name": {"enum": ["x", None]}}},
    "draft4": {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "properties": {
        "n": {"type": "number", "minimum": 0, "exclusiveMinimum": True}}},
    "nullable": {"type": "object", "properties": {"n": {"type": "string", "nullable": True}}},
    "keywords": {"type": "object", "properties": {
        "$ref": {"type": "string"}, "enum": {"type": "integer"}, "discriminator": {"type": "string"}}},
    "nothing": {"type": "object"},
}

OUTPUTS = {
    "recursive": {"type": "object", "properties": {"list": {"$ref": "#/$defs/node"}}, "$defs": {"node": NODE}},
    "itself": {"type": "wibble", "items": [1], "$ref": "#/nowhere"},
}


def tool(name):
    listed = {"name": name, "description": f"Says what it got: <{name}>", "inputSchema": TOOLS[name]}
    if name in OUTPUTS:
        listed["outputSchema"] = OUTPUTS[name]
    return listed


def answer(request):
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "tricky", "version": "1"}}
    if method == "tools/list":
        return {"tools": [tool(name) for name in TOOLS]}
    if method == "tools/call":
        arguments = params.get("arguments", {})
        return {"content": [{"type": "text", "text": json.dumps(arguments)}], "structuredContent": arguments}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message)
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": "no such method"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
