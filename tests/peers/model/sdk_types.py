"""What the model bridge writes fits the types of the vendors' own SDKs, and what those SDKs write is read."""

import json
import os
import pathlib
import sys
import time
import unittest
import urllib.request

from anthropic.types import MessageParam, ToolParam
from google.genai import types as genai
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam, ChatCompletionToolParam
from openai.types.responses import FunctionToolParam, ResponseInputItemParam
from pydantic import TypeAdapter

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "oxp"))

from server import serving

UPSTREAM = json.dumps(["python3", str(HERE / "upstream.py")])
CONFIG = f"""
[sources.Art]
kind = "mcp"
command = {UPSTREAM}
env = {{ PATH = {json.dumps(os.environ["PATH"])} }}
"""


def fits(kind, value):
    """Fails unless the value is of the SDK's own type."""
    TypeAdapter(kind).validate_python(value)


class Types(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = cls.enterClassContext(serving(CONFIG))
        ends = time.monotonic() + 60
        while len(cls.ask("anthropic", "tools")["tools"]) < 2 and time.monotonic() < ends:
            time.sleep(0.1)

    @classmethod
    def ask(cls, vendor, what, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{cls.base}/model/{vendor}/{what}", data)) as answer:
            return json.load(answer)

    def test_anthropic(self):
        fits(list[ToolParam], self.ask("anthropic", "tools")["tools"])
        use = {"type": "tool_use", "id": "t1", "name": "Art_draw", "input": {}}
        turn = self.ask("anthropic", "run", {"role": "assistant", "content": [use]})
        fits(list[MessageParam], turn["messages"])
        self.assertEqual(turn["messages"][1]["content"][0]["content"][1]["type"], "image")

    def test_openai(self):
        tools = self.ask("openai", "tools")["tools"]
        fits(list[ChatCompletionToolParam], tools)
        self.assertLessEqual(max(len(tool["function"]["description"]) for tool in tools), 1024)
        calls = [{"id": "c1", "type": "function", "function": {"name": "Art_draw", "arguments": "{}"}},
                 {"id": "c2", "type": "custom", "custom": {"name": "other", "input": "text"}}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        completion = ChatCompletion.model_validate(
            {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
        turn = self.ask("openai", "run", completion.model_dump())
        fits(list[ChatCompletionMessageParam], turn["messages"])
        self.assertEqual([message["role"] for message in turn["messages"]], ["assistant", "tool", "tool"])

    def test_responses(self):
        fits(list[FunctionToolParam], self.ask("openai-responses", "tools")["tools"])
        call = {"type": "function_call", "call_id": "c1", "name": "Art_draw", "arguments": "{}"}
        turn = self.ask("openai-responses", "run", {"output": [call]})
        fits(list[ResponseInputItemParam], turn["messages"])
        self.assertEqual(turn["messages"][1]["output"][1]["type"], "input_image")

    def test_gemini(self):
        tools = self.ask("gemini", "tools")["tools"]
        for tool in tools:
            genai.Tool.model_validate(tool)
        parts = [genai.Part(text="Let me see."), genai.Part(function_call=genai.FunctionCall(name="Art_draw", args={}))]
        answer = genai.GenerateContentResponse(
            candidates=[genai.Candidate(content=genai.Content(role="model", parts=parts))])
        for by_alias in (True, False):
            turn = self.ask("gemini", "run", answer.model_dump(mode="json", by_alias=by_alias))
            for message in turn["messages"]:
                genai.Content.model_validate(message)
            self.assertEqual((turn["text"], turn["calls"]), ("Let me see.", 1))
            response = turn["messages"][1]["parts"][0]["functionResponse"]
            self.assertEqual(response["parts"][0]["inlineData"]["mimeType"], "image/png")


unittest.main(verbosity=1)
