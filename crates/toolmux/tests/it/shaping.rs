//! `[tools]` that hides, renames, describes and fixes, as an operator meets it.

use crate::process::{Serving, folder, stderr, stdout, toolmux};

const SHELL: &str = r#"store = "memory"

[sources.Shell]
kind = "command"

[sources.Shell.tools.open-issue]
description = "Opens an issue"
command = ["echo", "{owner}/{title}"]
parameters = { owner = { type = "string" }, title = { type = "string" } }

[sources.Shell.tools.drop-all]
description = "Drops everything"
command = ["echo", "dropped"]
"#;

const SHAPED: &str = r#"
[tools."Shell.open-issue"]
name = "create_issue"
description = "Report a bug"
arguments = { owner = "acme" }

[tools."Shell.drop-*"]
hidden = true
"#;

#[test]
fn every_protocol_shows_the_shaped_tool_alone() {
    let folder = folder(&format!("{SHELL}{SHAPED}"));
    let serving = Serving::start(folder.path());
    let mcp = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let lists = [
        serving.get("/tools", "").1,
        serving.get("/opentool/load", "").1,
        serving.get("/get_tool", "").1,
        serving.get("/rest/openapi.json", "").1,
        serving.get("/model/openai/tools", "").1,
        serving.post("/mcp", "accept: application/json, text/event-stream\r\n", mcp).1,
    ];
    for list in lists {
        assert!(list.contains("create_issue") && list.contains("Report a bug"), "{list}");
        for gone in ["open-issue", "open_issue", "owner", "drop", "acme"] {
            assert!(!list.contains(gone), "{gone}: {list}");
        }
    }
    let (status, body) = serving.post("/rest/Shell_create_issue", "", br#"{"title":"Typo"}"#);
    assert_eq!((status, body.as_str()), (200, "\"acme/Typo\""));
    assert_eq!(serving.post("/rest/Shell_create_issue", "", br#"{"title":"T","owner":"x"}"#).0, 422);
    assert_eq!(serving.post("/rest/Shell_drop-all", "", b"{}").0, 404);
}

#[test]
fn it_is_told_what_was_changed_of_a_tool_and_why_one_is_not_there() {
    let folder = folder(&format!("{SHELL}{SHAPED}"));
    let why = |tool: &str| stdout(&toolmux(folder.path(), &["tools", "--why", tool]));
    let words = why("Shell.create_issue").split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["renamed its source calls it open-issue", "described by the configuration", "fixed owner"] {
        assert!(words.contains(part), "{words}");
    }
    assert!(!words.contains("acme"), "{words}");
    assert!(why("drop-all").contains("[tools.\"Shell.drop-*\"] hides it"), "{}", why("drop-all"));
    let listed = toolmux(folder.path(), &["tools"]);
    assert!(!stdout(&listed).contains("drop") && !stderr(&listed).contains("drop"), "{}", stderr(&listed));
}

#[test]
fn settings_that_have_no_effect_are_warned_about() {
    let idle = "\n[tools.\"Shell.none\"]\nhidden = true\n[tools.\"Shell.drop-all\"]\narguments = { force = true }\n\
                [tools.\"Shel.open-issue\"]\ntimeout = \"1s\"\n";
    let folder = folder(&format!("{SHELL}{idle}"));
    let doctor = stdout(&toolmux(folder.path(), &["doctor"]));
    for part in [
        "[tools.\"Shell.none\"] matches no tool",
        "`arguments.force` of [tools.\"Shell.drop-all\"] is not a parameter of any tool that it matches",
    ] {
        assert!(doctor.contains(part), "{doctor}");
    }
    let check = stderr(&toolmux(folder.path(), &["check"]));
    assert!(
        check.contains("[tools.\"Shel.open-issue\"] matches no source (hint: there are: Shell)"),
        "{check}"
    );
    let serving = Serving::start(folder.path());
    serving.told("[tools.\"Shell.none\"] matches no tool");
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_places() {
    let cases = [
        ("[tools.\"Shell.*\"]\nname = \"x\"\n", "`name` of [tools.\"Shell.*\"] would rename several tools"),
        ("[tools.\"Shell.drop-all\"]\nname = \"a b\"\n", "is not a name that every protocol accepts"),
        (
            "[tools.\"Shell.drop-all\"]\nname = \"x\"\n[tools.\"Shell.open-issue\"]\nname = \"x\"\n",
            "is the same as that of [tools.\"Shell.drop-all\"] in line 15",
        ),
        (
            "[tools.\"Shell.open-issue\"]\narguments = { owner = \"x\" }\ndeliver = [{ user_id = true, argument = \"owner\" }]\n",
            "has the argument `owner` in both `arguments` and `deliver`",
        ),
    ];
    for (config, expect) in cases {
        let folder = folder(&format!("{SHELL}{config}"));
        let checked = toolmux(folder.path(), &["check"]);
        let told = stderr(&checked).replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(expect), "{config}: {told}");
        assert_eq!(checked.status.code(), Some(2), "{config}");
    }
}
