"""An agent loop over OXP, over MCP, or over the model bridge. Only the standard library.

usage: agent.py oxp|mcp|openai TOOLMUX_URL MODEL_URL QUESTION
"""

import json
import sys
import urllib.request

PROTOCOL, TOOLMUX, MODEL, QUESTION = sys.argv[1:]


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def function(name, description, schema):
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


class Oxp:
    """Lists and calls tools by their OXP ids."""

    def tools(self):
        listed = ask(f"{TOOLMUX}/tools")["items"]
        self.ids = {tool["name"]: tool["id"] for tool in listed}
        return [function(tool["name"], tool["description"], tool["input_schema"]) for tool in listed]

    def call(self, call_id, name, arguments):
        answer = ask(f"{TOOLMUX}/tools/call", {"call_id": call_id, "tool_id": self.ids[name], "input": arguments})
        return json.dumps(answer["value"] if answer["success"] else answer["error"])


class Mcp:
    """Speaks JSON-RPC to /mcp."""

    def request(self, method, params):
        return ask(f"{TOOLMUX}/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})["result"]

    def tools(self):
        listed = self.request("tools/list", {})["tools"]
        return [function(tool["name"], tool["description"], tool["inputSchema"]) for tool in listed]

    def call(self, call_id, name, arguments):
        return self.request("tools/call", {"name": name, "arguments": arguments})["content"][0]["text"]


def answer_of(tools, messages):
    return ask(f"{MODEL}/v1/chat/completions", {"model": "replay", "messages": messages, "tools": tools})


def loop(peer, messages):
    """The model speaks, its calls are made, until it only has words."""
    tools = peer.tools()
    while True:
        message = answer_of(tools, messages)["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            arguments = json.loads(call["function"]["arguments"])
            result = peer.call(call["id"], call["function"]["name"], arguments)
            print(f"{call['function']['name']}({arguments}) = {result}")
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


def bridge(messages):
    """The same with nothing to translate: toolmux takes the model's answer as it is."""
    tools = ask(f"{TOOLMUX}/model/openai/tools")["tools"]
    while True:
        ran = ask(f"{TOOLMUX}/model/openai/run", answer_of(tools, messages))
        messages += ran["messages"]
        if ran["done"]:
            return ran["text"]
        print(f"{ran['calls']} call: {ran['messages'][-1]['content']}")


conversation = [{"role": "user", "content": QUESTION}]
print(bridge(conversation) if PROTOCOL == "openai" else loop({"oxp": Oxp, "mcp": Mcp}[PROTOCOL](), conversation))
