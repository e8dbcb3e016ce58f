//! An attacker who has a library, a command or an MCP server run here wants to get out of its sandbox.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::process::{BINARY, Serving, folder, processes, stderr, stdout, toolmux, until};

/// A library whose constructor tries what a library must not do; `escaped` has a bit for each thing that worked.
const CONSTRUCTOR: &str = r"
#define _GNU_SOURCE
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
static int done;
__attribute__((constructor)) static void on_load(void) {
    if (socket(AF_INET, SOCK_DGRAM, 0) >= 0) done |= 1;
    pid_t child = fork();
    if (child == 0) { setsid(); for (;;) pause(); }
    if (child > 0) done |= 2;
    if (kill(getppid(), 0) == 0) done |= 4;
}
int escaped(void) { return done; }
";

/// A program that gives the rest of its command line a kernel without landlock.
const WITHOUT_LANDLOCK: &str = r"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int count, char **words) {
    struct sock_filter code[] = {
        { 0x20, 0, 0, 0 },
        { 0x15, 0, 1, 444 /* landlock_create_ruleset */ },
        { 0x06, 0, 0, SECCOMP_RET_ERRNO | ENOSYS },
        { 0x06, 0, 0, SECCOMP_RET_ALLOW },
    };
    struct sock_fprog program = { 4, code };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 1;
    execv(words[1], words + 1);
    return 1;
}
";

fn compiled(folder: &Path, code: &str, name: &str, options: &[&str]) -> PathBuf {
    let (source, made) = (folder.join(format!("{name}.c")), folder.join(name));
    fs::write(&source, code).expect("written");
    let status = Command::new("cc").args(options).arg(&source).arg("-o").arg(&made).status();
    assert!(status.expect("a C compiler is installed as `cc`").success());
    made
}

/// A folder with the library and a configuration of a source of it.
fn library(sandbox: &str) -> tempfile::TempDir {
    let config = "store = \"memory\"\n[sources.Lib]\nkind = \"opendyn\"\ndocument = \"lib.json\"\n\
                  library = \"./lib.so\"\n";
    let folder = folder(&format!("{config}sandbox = \"{sandbox}\"\n"));
    compiled(folder.path(), CONSTRUCTOR, "lib.so", &["-shared", "-fPIC"]);
    let number = json!({ "type": "integer", "cType": { "type": "int" } });
    let escaped = json!({ "name": "escaped", "description": "What worked",
        "return": { "name": "result", "schema": number } });
    let document = json!({ "opendyn": "1.0.0", "info": { "title": "Lib", "version": "1.0.0" },
        "functions": [escaped] });
    fs::write(folder.path().join("lib.json"), document.to_string()).expect("written");
    folder
}

/// Processes that have the library loaded.
fn with_library(folder: &Path) -> Vec<u32> {
    let library = folder.join("lib.so").display().to_string();
    processes(|process| fs::read_to_string(process.join("maps")).is_ok_and(|maps| maps.contains(&library)))
}

fn parent(process: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
    parent.expect("it runs")
}

fn value(serving: &Serving, tool: &str, input: &Value) -> Value {
    let body = json!({ "tool_id": tool, "input": input }).to_string();
    serde_json::from_str(&serving.post("/tools/call", "", body.as_bytes()).1).expect("JSON")
}

#[test]
fn a_library_does_not_get_out_while_it_is_loaded() {
    for sandbox in ["pure", "deny"] {
        let folder = library(sandbox);
        let serving = Serving::start(folder.path());
        let answer = value(&serving, "Lib.escaped", &json!({}));
        assert_eq!(answer["value"], json!({ "result": 0 }), "{sandbox}: {answer}");
        for process in with_library(folder.path()) {
            assert_eq!(parent(process), serving.id(), "{sandbox}: workers alone");
        }
        drop(serving);
        until("the worker to end", || with_library(folder.path()).is_empty().then_some(()));
    }
}

/// Runs a command of the binary where the kernel has no landlock.
fn without_landlock(folder: &Path, arguments: &[&str]) -> String {
    let launcher = compiled(folder, WITHOUT_LANDLOCK, "without-landlock", &[]);
    let mut command = Command::new(launcher);
    command.arg(BINARY).args(arguments).current_dir(folder).env("NO_COLOR", "1").env_remove("RUST_LOG");
    let output = command.output().expect("it runs");
    stdout(&output) + &stderr(&output)
}

#[test]
fn a_library_is_not_run_where_pure_cannot_be_enforced() {
    let call = ["call", "Lib.escaped", "--config", "toolmux.toml"];
    let told = without_landlock(library("pure").path(), &call);
    assert!(
        told.contains("the sandbox `pure` cannot be enforced") && told.contains("sandbox = \"off\""),
        "{told}"
    );
    let told = without_landlock(library("deny").path(), &call);
    assert!(told.contains("the sandbox of libraries is only partly enforced"), "{told}");
    assert_eq!(told.matches("is only partly enforced").count(), 1, "once: {told}");
}

const PYTHON: &str = "/usr/bin/python3";

/// Commands that try to get out.
fn commands(sandbox: &str) -> tempfile::TempDir {
    let head = format!("store = \"memory\"\n[sources.Run]\nkind = \"command\"\nsandbox = {sandbox}\n");
    let tool = |name: &str, program: &str| {
        format!(
            "[sources.Run.tools.{name}]\ndescription = \"Runs it\"\ncommand = [\"{program}\", \"-c\", \"{{code}}\"]\n\
             parameters.code = {{ type = \"string\" }}\n"
        )
    };
    let config = [head, tool("shell", "sh"), tool("python", PYTHON)].concat();
    let folder = folder(&config);
    for name in ["open", "closed", "writable"] {
        fs::create_dir(folder.path().join(name)).expect("made");
        fs::write(folder.path().join(name).join("file"), name).expect("written");
    }
    folder
}

/// The value, or the words of the failure.
fn run(serving: &Serving, tool: &str, code: &str) -> Result<String, String> {
    let answer = value(serving, &format!("Run.{tool}"), &json!({ "code": code }));
    match answer["success"].as_bool() {
        Some(true) => Ok(answer["value"].as_str().unwrap_or_default().to_owned()),
        _ => Err(answer.to_string()),
    }
}

#[test]
fn a_command_does_not_read_or_write_outside_its_sandbox() {
    let folder = commands(r#"{ read = ["open"], write = ["writable"] }"#);
    let serving = Serving::start(folder.path());
    assert_eq!(run(&serving, "shell", "cat open/file").as_deref(), Ok("open"));
    assert_eq!(run(&serving, "shell", "echo new > writable/new && cat writable/new").as_deref(), Ok("new"));
    for code in [
        "cat closed/file",
        "cat toolmux.toml",
        "ls closed",
        "echo x > open/new",
        "echo x > new",
        "rm closed/file",
    ] {
        let told = run(&serving, "shell", code).expect_err(code);
        assert!(told.contains("Permission denied"), "{code}: {told}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("closed/file")).expect("still there"), "closed");
    // A temporary folder of its own, which goes with it.
    let temporary = run(&serving, "shell", "echo x > \"$TMPDIR/file\" && echo \"$TMPDIR\"").expect("written");
    assert!(temporary.contains("toolmux-") && !Path::new(&temporary).exists(), "{temporary}");
    let other = run(&serving, "shell", &format!("ls {}", std::env::temp_dir().display()));
    assert!(other.is_err(), "others have theirs: {other:?}");
}

#[test]
fn a_command_in_a_sandbox_reaches_no_network() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let code = format!("import socket; socket.create_connection(('127.0.0.1', {port})); print('out')");
    for (sandbox, expect) in [("\"deny\"", false), ("{ network = true }", true), ("\"off\"", true)] {
        let folder = commands(sandbox);
        let serving = Serving::start(folder.path());
        let told = run(&serving, "python", &code);
        assert_eq!(told.is_ok(), expect, "{sandbox}: {told:?}");
    }
}

#[test]
fn a_command_in_a_sandbox_does_not_exhaust_the_machine() {
    let folder = commands(r#"{ memory = "256MB", cpu = 1, processes = 0 }"#);
    let serving = Serving::start(folder.path());
    assert_eq!(run(&serving, "python", "print(len(bytearray(1 << 20)))").as_deref(), Ok("1048576"));
    let told = run(&serving, "python", "bytearray(1 << 30)").expect_err("too much");
    assert!(told.contains("MemoryError"), "{told}");
    // A fork bomb of three, should it go off.
    let told = run(&serving, "python", "import os\nfor _ in range(3): os.fork()").expect_err("no processes");
    assert!(told.contains("Operation not permitted"), "{told}");
    let told = run(&serving, "python", "while True: pass").expect_err("too long");
    assert!(told.contains("signal"), "{told}");
}

#[test]
fn a_command_in_a_sandbox_does_not_leave_its_group_or_touch_other_processes() {
    let folder = commands("\"deny\"");
    let serving = Serving::start(folder.path());
    for code in [
        "import os; os.setsid()",
        "import os; os.kill(os.getppid(), 0)",
        "import os; os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
        "import os; open(f'/proc/{os.getppid()}/environ').read()",
        "import os; open(f'/proc/{os.getppid()}/cmdline').read()",
        "import socket; socket.socket(socket.AF_UNIX)",
    ] {
        let told = run(&serving, "python", code).expect_err(code);
        assert!(told.contains("PermissionError"), "{code}: {told}");
    }
    let (id, told) = (serving.id(), run(&serving, "shell", "kill -TERM $PPID"));
    assert!(told.is_err() && Path::new(&format!("/proc/{id}")).exists(), "{told:?}");
}

#[test]
fn a_command_that_cannot_be_started_in_its_sandbox_is_not_said_to_have_run() {
    let folder = folder(
        "store = \"memory\"\n[sources.Run]\nkind = \"command\"\nsandbox = \"deny\"\n\
         [sources.Run.tools.gone]\ndescription = \"x\"\ncommand = [\"no-such-program\"]\n\
         [sources.Run.tools.pretends]\ndescription = \"x\"\ncommand = [\"sh\", \"-c\", \"echo sandbox launcher >&2; exit 125\"]\n",
    );
    let call = |tool: &str| stderr(&toolmux(folder.path(), &["call", tool, "--config", "toolmux.toml"]));
    assert!(call("Run.gone").contains("cannot be started in its sandbox"), "{}", call("Run.gone"));
    assert!(call("Run.pretends").contains("ended with status 125"), "{}", call("Run.pretends"));
}

/// An MCP server that reads the file it is asked for.
const READER: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked: continue
    method, params = asked["method"], asked.get("params", {})
    answer = {}
    if method == "initialize":
        answer = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "r", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}
        answer = {"tools": [{"name": "read", "inputSchema": schema}]}
    elif method == "tools/call":
        try: text, bad = open(params["arguments"]["file"]).read(), False
        except OSError as error: text, bad = str(error), True
        answer = {"content": [{"type": "text", "text": text}], "isError": bad}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"#;

fn reader(sandbox: &str) -> tempfile::TempDir {
    let folder = folder(&format!(
        "store = \"memory\"\n[sources.Mcp]\nkind = \"mcp\"\ncommand = [\"{PYTHON}\", \"server.py\"]\nsandbox = {sandbox}\n"
    ));
    fs::write(folder.path().join("server.py"), READER).expect("written");
    for name in ["notes", "key"] {
        fs::write(folder.path().join(name), format!("the {name}")).expect("written");
    }
    folder
}

#[test]
fn an_mcp_server_does_not_read_outside_its_sandbox() {
    let folder = reader(r#"{ read = ["server.py", "notes"] }"#);
    let serving = Serving::start(folder.path());
    let read = |file: &str| value(&serving, "Mcp.read", &json!({ "file": file })).to_string();
    assert!(read("notes").contains("the notes"), "{}", read("notes"));
    for file in ["key", "toolmux.toml", "/etc/shadow", "/proc/1/cmdline"] {
        let told = read(file);
        assert!(told.contains("Permission denied") && !told.contains("the key"), "{file}: {told}");
    }
}

#[test]
fn an_mcp_server_in_a_sandbox_ends_with_the_server() {
    let folder = reader(r#"{ read = ["server.py"] }"#);
    let serving = Serving::start(folder.path());
    let place = folder.path().canonicalize().expect("a folder");
    let running = || processes(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == place));
    let own = serving.id();
    let others = || running().into_iter().filter(|id| *id != own).collect::<Vec<_>>();
    assert_eq!(others().len(), 1, "one process, which is the program itself");
    drop(serving);
    until("the MCP server to end", || others().is_empty().then_some(()));
}

#[test]
fn a_program_is_not_started_where_its_sandbox_cannot_be_enforced() {
    let told = without_landlock(
        commands("\"deny\"").path(),
        &["call", "Run.shell", "code=echo ran", "--config", "toolmux.toml"],
    );
    assert!(told.contains("the sandbox cannot be enforced") && told.contains("no landlock"), "{told}");
    assert!(told.contains("sandbox = \"off\"") && !told.contains("\"ran\""), "{told}");
    let told = without_landlock(reader("\"deny\"").path(), &["tools", "toolmux.toml"]);
    assert!(told.contains("the sandbox cannot be enforced"), "{told}");
    let told = without_landlock(commands("\"deny\"").path(), &["doctor", "toolmux.toml"]);
    assert!(told.contains("the sandbox cannot be enforced"), "{told}");
}

#[test]
fn a_mistake_in_a_sandbox_does_not_open_it() {
    for (sandbox, expect) in [
        ("{ reed = [\"x\"] }", "did you mean `read`?"),
        ("\"none\"", "`off` or `deny`"),
        ("{ memory = \"lots\" }", "`sandbox.memory` must be a number of bytes"),
        ("{ cpu = \"10ms\" }", "`sandbox.cpu` must be at least a second"),
    ] {
        let folder = commands(sandbox);
        let check = toolmux(folder.path(), &["check", "toolmux.toml"]);
        assert_eq!(check.status.code(), Some(2), "{sandbox}");
        assert!(stderr(&check).contains(expect), "{sandbox}: {}", stderr(&check));
    }
}
