//! Faults in a configuration: what, where, and what to do.

use serde_json::json;

use crate::process::{ECHO, Serving, folder, stderr, stdout, toolmux};

/// The words that `toolmux check` has for a configuration, without the picture around them.
fn check(config: &str, expect: &[&str]) {
    let folder = folder(config);
    let output = toolmux(folder.path(), &["check", "toolmux.toml"]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{config}: {told}");
    for words in expect {
        assert!(told.contains(words), "{config}: {told}");
    }
}

/// The words that `toolmux serve` has for a configuration that it refuses.
fn refused_by_serve(config: &str, expect: &[&str]) {
    let folder = folder(config);
    let output = toolmux(folder.path(), &["serve", "toolmux.toml"]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{config}: {told}");
    for words in expect {
        assert!(told.contains(words), "{words}: {told}");
    }
}

/// The warnings that `toolmux check` has for a configuration that is good.
fn warned(config: &str, expect: &[&str]) {
    let folder = folder(config);
    let output = toolmux(folder.path(), &["check", "toolmux.toml"]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{config}: {told}");
    let count = if expect.len() == 1 { "1 warning".to_owned() } else { format!("{} warnings", expect.len()) };
    assert!(expect.is_empty() || stdout(&output).contains(&count), "{config}: {}{told}", stdout(&output));
    for words in expect {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!expect.is_empty() || told.is_empty(), "{told}");
}

#[test]
fn check_refuses_what_serve_refuses() {
    let public = format!("listen = \"0.0.0.0:0\"\n{ECHO}");
    let words = ["is not a loopback address, and no key is configured", "hint: add a [keys.NAME] table"];
    check(&public, &words);
    check(&public, &["toolmux.toml:1:1"]);
    refused_by_serve(&public, &words);
    refused_by_serve(&public, &["toolmux.toml:1:1"]);
    warned(&format!("{public}\n[keys.ann]\nkey = {{ env = \"TOOLMUX_TEST_UNSET\" }}\n"), &["`keys.ann.key`"]);
    for (parameter, words) in [
        ("{ type = \"strng\" }", "parameter `text` of tool `echo`: `type` must be one of"),
        ("{ type = \"array\", items = { type = \"text\" } }", "`type` must be one of"),
        ("\"string\"", "parameter `text` of tool `echo`: it must be a table"),
    ] {
        let config = ECHO.replace("{ type = \"string\" }", parameter);
        check(&config, &[words, "hint: text = { type = \"string\" }"]);
        refused_by_serve(&config, &[words]);
    }
}

#[test]
fn what_is_likely_a_mistake_is_a_warning() {
    warned("", &["toolmux.toml:1:1: there is no source"]);
    warned(&format!("{ECHO}\n[toolsets.home]\ntools = [\"Shell.*\", \"Shell_echo\", \"*\"]\n"), &[]);
    warned(
        &format!(
            "{ECHO}\n[toolsets.home]\ntools = [\"Shel.echo\", \"Other_*\"]\n[tools.\"Nobody.x\"]\ntimeout = \"5s\"\n"
        ),
        &[
            "toolmux.toml:13:1: item 1 of toolsets.home.tools matches no source (hint: there are: Shell)",
            "item 2 of toolsets.home.tools matches no source",
            "[tools.\"Nobody.x\"] matches no source",
        ],
    );
}

#[test]
fn a_variable_that_is_not_set_is_a_warning_where_nothing_is_served() {
    let unset = "{ env = \"TOOLMUX_TEST_UNSET\" }";
    let config = format!(
        "store = {unset}\n[sources.Far]\nkind = \"oxp\"\nurl = \"http://127.0.0.1:1\"\nkey = {unset}\n[keys.ann]\nkey = {unset}
[jwt]\nsecret = {unset}\naudience = [\"x\"]\n[secrets]\nSHOP = {unset}\n"
    );
    let places = ["`store`", "`sources.Far.key`", "`keys.ann.key`", "`jwt.secret`", "`secrets.SHOP`"];
    warned(&config, &places);
    refused_by_serve(&config, &["`store` cannot be read", "`keys.ann.key` cannot be read", "`secrets.SHOP`"]);
}

#[test]
fn every_fault_of_a_file_is_told_at_once() {
    let config = "lisen = 1\nlisten = 5\n[limits]\nqueue = \"x\"\ndrain = \"soon\"\n[keys.ann]\n[keys.bob]\nkey = \"b\"\ntoolset = \"nowhere\"
[sources.A]\nkind = \"mcp\"\ncommand = \"npx -y foo\"\nera = \"old\"\n[sources.B]\nkind = \"mpc\"\n[sources.C]\nkind = \"oxp\"\n";
    let expect = [
        "unknown key `lisen`",
        "`listen` must be a string",
        "`limits.queue` must be a whole number",
        "`limits.drain` must be a time such as",
        "key `ann` needs one of `key`, `sha256` and `certificate`",
        "`keys.bob.toolset` names a toolset that does not exist",
        "`sources.A.command` must be a list of strings",
        "`sources.A.era` must be `auto`, `modern` or `legacy`",
        "source `B` has an unknown kind",
        "source `C` cannot be opened",
    ];
    check(config, &expect);
    refused_by_serve(config, &expect);
    let folder = folder(config);
    let told = stdout(&toolmux(folder.path(), &["check", "--json"]));
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let faults = told[0]["faults"].as_array().expect("a list");
    assert_eq!(faults.len(), expect.len(), "none twice, and none because of another: {faults:#?}");
}

#[test]
fn the_usual_mistakes_are_told_with_what_to_write() {
    let mcp = "[sources.A]\nkind = \"mcp\"\n";
    let list = "command = [\"npx\", \"-y\", \"foo\"]";
    check(&format!("{mcp}command = \"npx -y foo\"\n"), &[list]);
    check(&format!("{mcp}command = \"npx\"\nargs = [\"-y\", \"foo\"]\n"), &["unknown key `args`", list]);
    let tool =
        "[sources.A]\nkind = \"command\"\n[sources.A.tools.x]\ndescription = \"x\"\ncommand = \"ls -l\"\n";
    check(tool, &["`sources.A.tools.x.command` must be a list of strings", list]);
    let kinds = ["hint: one of: command"];
    check("[sources.A]\nkind = \"graphql\"\n", &kinds);
    let told = |config: &str| stderr(&toolmux(folder(config).path(), &["check"]));
    assert!(!told("[sources.A]\nkind = \"openapy\"\n").contains("opendyn`?"));
    assert!(!told("[tlss]\ncert = \"x\"\n").contains("`toolsets`?"));
    check(
        "[sources.Größe]\nkind = \"command\"\ntools = {}\n".replace("Größe", "\"Größe\"").as_str(),
        &["characters other than ASCII letters, digits and _"],
    );
}

#[test]
fn an_unknown_key_is_shown_with_the_one_that_was_meant() {
    check(
        "lisen = \"127.0.0.1:1\"\n",
        &["unknown key `lisen`", "toolmux.toml:1:1", "hint: did you mean `listen`?"],
    );
    check(
        &format!("{ECHO}\n[tools.\"Shell.echo\"]\ntimeot = \"5s\"\n"),
        &["unknown key `timeot`", "did you mean `timeout`?"],
    );
    check(
        &format!("{ECHO}\n[sources.Shell2]\nkind = \"command\"\ntols = {{}}\n"),
        &["unknown key `tols`", "did you mean `tools`?"],
    );
    check(
        &format!("{ECHO}descripton = \"x\"\n"),
        &["unknown key `descripton`", "did you mean `description`?"],
    );
}

#[test]
fn broken_toml_shows_its_line() {
    check("listen = \n", &["toolmux.toml:1:"]);
    check("listen = 5\n", &["toolmux.toml:1:10", "`listen` must be a string"]);
    check("a = 1\na = 2\n", &["duplicate key"]);
}

#[test]
fn what_has_to_happen_needs_some_time() {
    check("[limits]\nhead_timeout = \"0s\"\n", &["toolmux.toml:2:", "longer than 0s"]);
    check(
        "[limits]\nbody_timeout = \"soon\"\n",
        &["toolmux.toml:2:", "`limits.body_timeout` must be a time such as"],
    );
}

#[test]
fn sources_need_a_known_kind_and_a_plain_name() {
    check("[sources.A]\n", &["source `A` has no `kind`", "hint: one of: command"]);
    check("[sources.A]\nkind = \"mpc\"\n", &["source `A` has an unknown kind", "did you mean `mcp`?"]);
    check("[sources.A]\nkind = \"comand\"\n", &["has an unknown kind", "did you mean `command`?"]);
    check(
        "[sources.\"a b\"]\nkind = \"command\"\ntools = {}\n",
        &["the toolkit of source `a b` has characters other than"],
    );
}

#[test]
fn a_store_is_of_a_kind_we_know() {
    check(
        "store = \"sqlte:x.db\"\n",
        &["this is not a store", "toolmux.toml:1:1", "hint: write `memory`, `sqlite:FILE`"],
    );
}

#[test]
fn keys_need_a_secret_and_a_known_toolset() {
    check("[keys.ann]\n", &["key `ann` needs one of `key`, `sha256` and `certificate`"]);
    check("[keys.ann]\nsha256 = \"12\"\n", &["64 hexadecimal digits"]);
    refused_by_serve(
        "[keys.ann]\nkey = { env = \"TOOLMUX_TEST_UNSET\" }\n",
        &["`keys.ann.key` cannot be read: its environment variable is not set", "toolmux.toml:2:1"],
    );
    check(
        "[keys.ann]\nkey = { file = \"nowhere\" }\n",
        &["`keys.ann.key` cannot be read: its file cannot be read: No such file"],
    );
    check(
        "[keys.ann]\nkey = \"hunter2\"\ntoolset = \"hom\"\n[toolsets.home]\ntools = []\n",
        &["`keys.ann.toolset` names a toolset that does not exist", "did you mean `home`?"],
    );
}

#[test]
fn a_value_of_the_wrong_kind_is_told_by_its_place_and_what_is_expected() {
    check(
        "[keys]\nalice = \"hunter2\"\n",
        &[
            "`keys.alice` must be a table with `key`, `sha256`, `certificate`, `toolset` or `operator`",
            "toolmux.toml:2:9",
        ],
    );
    check(
        "[keys.ann]\nkey = 5\n",
        &["`keys.ann.key` must be a string, { env = \"NAME\" } or { file = \"path\" }"],
    );
    check("[limits]\nqueue = -1\n", &["`limits.queue` must be a whole number of at least 0"]);
    check("[toolsets.home]\n", &["`toolsets.home` needs `tools`"]);
    check("[toolsets.home]\ntools = [\"a\", 5]\n", &["`toolsets.home.tools[1]` must be a string"]);
    let mcp = "[sources.A]\nkind = \"mcp\"\n";
    check(
        &format!("{mcp}command = \"npx -y foo\"\n"),
        &["`sources.A.command` must be a list of strings", "toolmux.toml:3:11"],
    );
    check(&format!("{mcp}era = \"old\"\n"), &["`sources.A.era` must be `auto`, `modern` or `legacy`"]);
    check("[sources.A]\nkind = \"oxp\"\n", &["source `A` cannot be opened: it needs `url`"]);
    check(
        "[tools.\"A.b\"]\ndeliver = [{ token = \"x\" }]\n",
        &["`tools.A.b.deliver` must be a list of tables, each with one of `header`, `env` and `argument`"],
    );
}

#[test]
fn a_fault_never_shows_a_secret() {
    let folder = folder("[keys.ann]\nkey = \"hunter2\"\ntoolset = \"nowhere\"\n");
    let told = stderr(&toolmux(folder.path(), &["check", "toolmux.toml"]));
    assert!(!told.contains("hunter2"), "{told}");
}

#[test]
fn an_address_that_others_reach_needs_a_key() {
    let folder = folder(ECHO);
    let output = toolmux(folder.path(), &["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("is not a loopback address, and no key is configured"));
    assert!(stderr(&output).contains("hint: add a [keys.NAME] table"));
}

#[test]
fn of_two_sources_with_one_name_the_first_keeps_it_and_the_server_starts() {
    let twice = format!(
        "{ECHO}{}",
        ECHO.replace("store = \"memory\"", "")
            .replace("[sources.Shell", "[sources.Other")
            .replace("kind = \"command\"", "kind = \"command\"\ntoolkit = \"Shell\"")
    );
    let folder = folder(&twice);
    let serving = Serving::start(folder.path());
    serving
        .told("not served: echo of Other: the name `Shell_echo` is taken by tool `echo` of source `Shell`");
    assert!(serving.call("Shell_echo", &json!({ "text": "good" })).contains("good"));
    let doctor = toolmux(folder.path(), &["doctor"]);
    assert_eq!(doctor.status.code(), Some(1), "the rest is served: {}", stdout(&doctor));
    assert!(stdout(&doctor).contains("echo of Other is not served"), "{}", stdout(&doctor));
    assert!(
        stdout(&doctor).contains("hint: give one of the sources another `toolkit`"),
        "{}",
        stdout(&doctor)
    );
    assert!(stderr(&toolmux(folder.path(), &["tools"])).contains("not served: echo of Other"));
}

#[test]
fn every_limit_has_a_setting() {
    let limits = "call_timeout = '1m'\nconcurrency = 1\nqueue = 1\nbreaker_failures = 1\nbreaker_rest = '1s'
drain = '1s'\nrefresh = '1m'\nlist_timeout = '30s'\ntools_per_source = 1\ntask_concurrency = 1\ntask_backlog = 1\ntask_backlog_bytes = '1MiB'
task_patience = '5m'\ntask_result_bytes = 1\nbody_bytes = 1\nbody_timeout = '30s'\nhead_timeout = '30s'
connections = 1\nmemory = '512MiB'\n";
    let folder = folder(&format!("{ECHO}\n[limits]\n{limits}"));
    let output = toolmux(folder.path(), &["check", "toolmux.toml"]);
    assert!(output.status.success(), "{}", stderr(&output));
    check(&format!("{ECHO}\n[limits]\nmemory = 'much'\n"), &["a string such as \"512MiB\""]);
    check(&format!("{ECHO}\n[limits]\nlist_timout = '1s'\n"), &["did you mean `list_timeout`?"]);
}

#[test]
fn a_source_that_cannot_be_opened_is_shown_in_its_place() {
    let config = format!(
        "{ECHO}\n[sources.Math]\nkind = \"opendyn\"\ndocument = \"nowhere.json\"\nlibrary = \"libm.so.6\"\n"
    );
    check(
        &config,
        &["source `Math` cannot be opened", "the file of `document` cannot be read", "toolmux.toml:12:10"],
    );
    let folder = folder("[sources.Far]\nkind = \"mcp\"\n");
    let served = toolmux(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    let told = stderr(&served);
    assert_eq!(served.status.code(), Some(2), "{told}");
    assert!(told.contains("toolmux.toml:1:10") && told.contains("hint: command = ["), "{told}");
}

#[test]
fn the_redirect_uri_of_a_provider_ends_with_its_name() {
    let provider = |name: &str| {
        format!(
            "[auth.providers.\"{name}\"]\nissuer = \"https://login.example.com\"\nclient_id = \"toolmux\"\n"
        )
    };
    for name in ["a.b", "a/b", "client.json", "a b"] {
        check(&provider(name), &["may have letters, digits, `_` and `-`: it is part of its redirect URI"]);
    }
    let public = "[auth]\npublic_url = \"https://tools.example.com/gate/\"\n";
    let folder = folder(&format!("{public}{}", provider("git-hub_1")));
    let told = stdout(&toolmux(folder.path(), &["auth", "providers", "--json"]));
    let uri = "https://tools.example.com/gate/auth/callback/git-hub_1";
    let told: serde_json::Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{told}"));
    assert_eq!(told, json!([{ "provider": "git-hub_1", "redirect_uri": uri }]));
}
