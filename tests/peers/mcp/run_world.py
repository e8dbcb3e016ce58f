"""Real MCP servers of three revisions behind one toolmux, real clients of both eras in front of it."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from serving import BIN, HERE, SCRATCH, appeared, toolmux

FILES = SCRATCH / "files"
REPOSITORY = SCRATCH / "repository"


@contextlib.contextmanager
def everything_over_sse():
    """The address of a real server that speaks the HTTP+SSE of 2024-11-05."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(SCRATCH / "sse.log", "w") as log:
        server = subprocess.Popen(["mcp-server-everything", "sse"], env={**os.environ, "PORT": str(port)},
                                  stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{port}/sse"
    finally:
        server.terminate()
        server.wait(20)


def sources(sse):
    FILES.mkdir()
    (FILES / "hello.txt").write_text("hello from a file")
    run = lambda *argv: subprocess.run(argv, cwd=REPOSITORY, check=True, capture_output=True)
    REPOSITORY.mkdir()
    run("git", "init", "-q")
    run("git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "first")
    path = f'env = {{ PATH = {json.dumps(os.environ["PATH"])} }}'
    return {
        "Every": [path, 'command = ["mcp-server-everything"]'],
        "Files": [path, f'command = ["mcp-server-filesystem", {json.dumps(str(FILES))}]'],
        "Oldest": [path, 'command = ["mcp-server-postgres", "postgresql://127.0.0.1:1/none"]'],
        "Sse": [f"url = {json.dumps(sse)}", "max_restart_pause_ms = 500"],
        "Time": [path, 'command = ["mcp-server-time"]'],
        "Git": [path, f'command = ["mcp-server-git", "--repository", {json.dumps(str(REPOSITORY))}]'],
    }


# Of revision 2024-11-05; it lists without its database, and its only tool would need one.
OLDEST = "Oldest_query"

CALLS = [
    ("Every_echo", {"message": "around the world"}, "around the world"),
    ("Every_get-sum", {"a": 2, "b": 40}, "42"),
    ("Sse_echo", {"message": "over two addresses"}, "over two addresses"),
    ("Files_read_text_file", {"path": str(FILES / "hello.txt")}, "hello from a file"),
    ("Time_get_current_time", {"timezone": "UTC"}, "UTC"),
    ("Git_git_log", {"repo_path": str(REPOSITORY)}, "first"),
]


async def python_client(where, mode):
    """Everything once, as the Python SDK asks it in one era."""
    asked = []

    async def elicited(context, params):
        from mcp.types import ElicitResult
        asked.append(params.message)
        return ElicitResult(action="decline")

    steps = []

    async def progressed(progress, total, message):
        steps.append(progress)

    async with Client(where, mode=mode, elicitation_callback=elicited) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert OLDEST in names, f"{OLDEST} is not among {sorted(names)}"
        for name, arguments, expected in CALLS:
            assert name in names, f"{name} is not among {sorted(names)}"
            result = await client.call_tool(name, arguments)
            said = " ".join(getattr(block, "text", "") for block in result.content)
            assert not result.is_error and expected in said, f"{mode} {name}: {result}"
        await client.call_tool("Every_trigger-long-running-operation", {"duration": 1, "steps": 4},
                               progress_callback=progressed)
        assert steps == [1, 2, 3, 4], f"{mode}: progress {steps}"
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert "Every_simple-prompt" in prompts, prompts
        await client.get_prompt("Every_simple-prompt")
        resources = (await client.list_resources()).resources
        assert (await client.read_resource(str(resources[0].uri))).contents
        if "Every_trigger-elicitation-request" in names:
            await client.call_tool("Every_trigger-elicitation-request", {})
            assert asked, f"{mode}: the question did not reach the client"
    print(f"Python SDK, {mode}: {len(names)} tools, {len(CALLS)} calls, questions {len(asked)}")


def inspector(url):
    def ask(*more):
        command = ["mcp-inspector", "--cli", url, "--transport", "http", *more]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    names = {tool["name"] for tool in json.loads(ask("--method", "tools/list"))["tools"]}
    assert {name for name, _, _ in CALLS} <= names
    said = ask("--method", "tools/call", "--tool-name", "Every_echo", "--tool-arg", "message=inspected")
    assert "inspected" in said, said
    print(f"inspector: {len(names)} tools, 1 call")


def typescript(url):
    def ask(name, arguments):
        command = ["node", str(HERE / "typescript_client.mjs"), url, name, json.dumps(arguments)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)
    for name, arguments, expected in CALLS:
        answer = ask(name, arguments)
        assert name in answer["tools"] and expected in json.dumps(answer["result"]), answer
    long = ask("Every_trigger-long-running-operation", {"duration": 1, "steps": 4})
    # The old client forgets a step that it reads together with the answer.
    assert long["steps"] == 4 or (url.endswith("/sse") and long["steps"] == 3), long
    print(f"TypeScript SDK at {url}: {len(answer['tools'])} tools, {len(CALLS) + 1} calls, progress")


# Servers on a busy machine take long to start, and clients list once.
PATIENT = '[limits]\nstart_wait = "90s"\nlist_timeout = "90s"\n'


def main():
    with everything_over_sse() as sse:
        with toolmux(sources(sse), more=PATIENT) as base:
            url = f"{base}/mcp"
            appeared(url, {OLDEST} | {name for name, _, _ in CALLS})
            for mode in ("auto", "legacy", "2026-07-28"):
                asyncio.run(python_client(url, mode))
            inspector(url)
            typescript(url)
            typescript(f"{base}/sse")
        for mode in ("auto", "legacy"):
            server = StdioServerParameters(command=BIN, args=["mcp", str(SCRATCH / "toolmux.toml")])
            asyncio.run(python_client(server, mode))


main()
