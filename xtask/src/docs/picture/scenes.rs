//! What each picture shows: the commands that are run for it.

pub(super) struct Scene {
    /// The picture, relative to the root of the project.
    pub(super) file: &'static str,
    /// Read out by programs for those who do not see it.
    pub(super) title: &'static str,
    pub(super) steps: &'static [SceneStep],
}

pub(super) enum SceneStep {
    /// Shown with all that it prints.
    Run(&'static str),
    /// A server of ours: shown with what it prints until it is ready, and running for the steps after it.
    Serve(&'static str),
    /// Another server that the steps after it need; it is not shown.
    Background(&'static str),
}

use SceneStep::{Background, Run, Serve};

pub(super) const SCENES: &[Scene] = &[
    Scene {
        file: "docs/terminal.svg",
        title: "toolmux serves a C library and two commands; a call, and two mistakes that are explained",
        steps: &[
            Serve("toolmux serve examples/quickstart/toolmux.toml"),
            Run("toolmux call Math.pow x=2 y=10 --url http://127.0.0.1:9627"),
            Run("toolmux call Math.pow x=two y=10 --url http://127.0.0.1:9627"),
            Run(
                r#"curl -s http://127.0.0.1:9627/tools/call -d '{"tool_id":"Math.pwo","input":{"x":2,"y":10}}'"#,
            ),
        ],
    },
    Scene {
        file: "docs/one-endpoint.svg",
        title: "Two MCP servers, one over stdio and one over HTTP, behind one endpoint",
        steps: &[
            Background("python3 examples/mcp-eras/http_server.py 2026-07-28 127.0.0.1:9712"),
            Run("toolmux init"),
            Run("toolmux add --name Greeter -- python3 examples/mcp-eras/handshake_2024.py"),
            Run("toolmux add --name Adder http://127.0.0.1:9712/mcp"),
            Serve("toolmux serve --listen 127.0.0.1:9627"),
            Run("toolmux call Adder.sum 'numbers=[1,2,3.5]' --url http://127.0.0.1:9627"),
            Run(r#"curl -s http://127.0.0.1:9627/mcp -H 'content-type: application/json' -d '{
    "jsonrpc":"2.0","id":1,"method":"tools/call",
    "params":{"name":"Greeter_greet","arguments":{"name":"Ada"}}}'"#),
        ],
    },
    Scene {
        file: "docs/c-library.svg",
        title: "A C library becomes tools: described from its header, served, and called",
        steps: &[
            Run("cc -shared -fPIC -o libgreet.so examples/c-library/greet.c"),
            Run(
                "toolmux describe examples/c-library/greet.h --library ./libgreet.so --out greet.opendyn.json",
            ),
            Serve("toolmux serve greet.opendyn.json ./libgreet.so --listen 127.0.0.1:9627"),
            Run("toolmux call greet_distance x=3 y=4 --url http://127.0.0.1:9627"),
            Run("toolmux call greet_add a=3000000000 b=1 --url http://127.0.0.1:9627"),
        ],
    },
    Scene {
        file: "docs/every-protocol.svg",
        title: "One function of a C library, called over OpenTool, OXP, ATS, MCP and the model bridge",
        steps: &[
            Serve("toolmux serve examples/quickstart/toolmux.toml"),
            Run(r#"curl -s http://127.0.0.1:9627/opentool/call \
    -d '{"jsonrpc":"2.0","method":"Math_pow","params":{"x":2,"y":10},"id":"1"}'"#),
            Run(
                r#"curl -s http://127.0.0.1:9627/tools/call -d '{"tool_id":"Math.pow","input":{"x":2,"y":10}}'"#,
            ),
            Run(
                r#"TASK=$(curl -s http://127.0.0.1:9627/call_tool/Math_pow -d '{"x":2,"y":10}' | cut -d'"' -f4)"#,
            ),
            Run("curl -s http://127.0.0.1:9627/callback/$TASK"),
            Run(r#"curl -s http://127.0.0.1:9627/mcp -H 'content-type: application/json' -d '{
    "jsonrpc":"2.0","id":1,"method":"tools/call",
    "params":{"name":"Math_pow","arguments":{"x":2,"y":10}}}'"#),
            Run(r#"curl -s http://127.0.0.1:9627/model/openai/run -d '{"role":"assistant","tool_calls":[{
    "id":"1","type":"function",
    "function":{"name":"Math_pow","arguments":"{\"x\":2,\"y\":10}"}}]}' | grep -o '{"role":"tool".*'"#),
        ],
    },
];
