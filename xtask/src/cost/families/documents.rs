//! Files that commands of the program read: configurations, documents, C headers. Sizes count entries.

use serde_json::{Map, Value, json};

use crate::cost::{Case, Input};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "config-tools",
        about: "a configuration of many commands",
        smallest: 250,
        input: config(tools),
    },
    Case {
        name: "config-unknown",
        about: "a configuration of unknown keys",
        smallest: 250,
        input: config(unknown),
    },
    Case {
        name: "config-comments",
        about: "a configuration of long lines",
        smallest: 32 << 10,
        input: config(comments),
    },
    Case {
        name: "opentool-document",
        about: "an OpenTool document of many functions",
        smallest: 250,
        input: document("x.opentool.json", opentool),
    },
    Case {
        name: "opentool-faults",
        about: "the same with a fault in each",
        smallest: 250,
        input: document("x.opentool.json", faulty),
    },
    Case {
        name: "opendyn-document",
        about: "an OpenDyn document of many functions",
        smallest: 250,
        input: document("x.opendyn.json", opendyn),
    },
    Case {
        name: "workflow-document",
        about: "a workflow of many steps",
        smallest: 250,
        input: document("x.workflow.json", workflow),
    },
    Case {
        name: "header-functions",
        about: "a C header of many functions",
        smallest: 250,
        input: header(functions),
    },
    Case {
        name: "header-comments",
        about: "a C header of comments and parentheses",
        smallest: 8 << 10,
        input: header(parentheses),
    },
];

const fn config(text: fn(usize) -> String) -> Input {
    Input::File { arguments: &["check"], name: "toolmux.toml", text }
}

const fn document(name: &'static str, text: fn(usize) -> String) -> Input {
    Input::File { arguments: &["check"], name, text }
}

const fn header(text: fn(usize) -> String) -> Input {
    Input::File { arguments: &["describe", "--library", "libm.so.6"], name: "x.h", text }
}

fn tools(n: usize) -> String {
    let tool = |at: usize| {
        format!(
            "[sources.A.tools.t{at}]\ndescription = \"d\"\ncommand = [\"echo\", \"{{x}}\"]\nparameters.x = {{ type = \"string\" }}\n"
        )
    };
    format!("[sources.A]\nkind = \"command\"\n{}", (0..n).map(tool).collect::<String>())
}

fn unknown(n: usize) -> String {
    let lines: Vec<String> = (0..n).map(|at| format!("unknown{at} = {at}")).collect();
    lines.join("\n")
}

fn comments(n: usize) -> String {
    format!("# {}\n{}", "#".repeat(n), tools(1))
}

fn opentool(n: usize) -> String {
    let function = |at: usize| {
        let parameter = json!({ "name": "a", "schema": { "$ref": "#/schemas/S" }, "required": true });
        json!({ "name": format!("f{at}"), "description": "d", "parameters": [parameter] })
    };
    let functions: Vec<Value> = (0..n).map(function).collect();
    json!({ "opentool": "1.0.0", "info": { "title": "x", "version": "1.0.0" }, "functions": functions,
        "schemas": { "S": { "type": "string" } } })
    .to_string()
}

fn faulty(n: usize) -> String {
    let function = |at: usize| {
        let parameter =
            json!({ "name": "a", "schema": { "$ref": format!("#/schemas/S{at}") }, "required": "yes" });
        json!({ "name": "twice", "parameters": [parameter] })
    };
    let functions: Vec<Value> = (0..n).map(function).collect();
    json!({ "opentool": "1.0.0", "info": { "title": "x" }, "functions": functions }).to_string()
}

fn opendyn(n: usize) -> String {
    let integer = json!({ "type": "integer", "cType": { "type": "int", "isPointer": false } });
    let function = |at: usize| {
        let parameter = json!({ "name": "a", "schema": integer, "isIn": true, "required": true });
        json!({ "name": format!("f{at}"), "description": "d", "parameters": [parameter],
            "return": { "name": "r", "schema": integer }, "symbol": format!("f{at}") })
    };
    let functions: Vec<Value> = (0..n).map(function).collect();
    json!({ "opendyn": "1.0.0", "info": { "title": "x", "version": "1.0.0", "callingConvention": "cdecl" },
        "functions": functions })
    .to_string()
}

fn workflow(n: usize) -> String {
    let step = |at: usize| {
        let name = if at == 0 { "start".to_owned() } else { format!("s{at}") };
        let arguments = json!({ "a": at });
        let step = json!({ "function": "sleep", "arguments": arguments, "results": {}, "next": format!("s{}", at + 1) });
        (name, step)
    };
    let steps: Map<String, Value> = (0..n.max(1)).map(step).collect();
    json!({ "openworkflow": "1.0.0", "info": { "title": "x", "version": "1.0.0" }, "workflow": steps })
        .to_string()
}

fn functions(n: usize) -> String {
    let function = |at: usize| format!("/** Does {at}. */\nint f{at}(int a, const char *b);\n");
    (0..n).map(function).collect::<Vec<String>>().concat()
}

fn parentheses(n: usize) -> String {
    format!("/* {} */\nint f({}void{});\n", "* ".repeat(n), "(".repeat(n / 8), ")".repeat(n / 8))
}
