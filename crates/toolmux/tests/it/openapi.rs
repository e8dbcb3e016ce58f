//! OpenAPI documents on the command line: what `check` says of them, what `tools --why` says of an operation that is not
//! served, and what `add` offers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::process::{Serving, folder, stderr, stdout, toolmux};

const PETS: &str = "openapi: 3.0.3
info: {title: Pets, version: 1.0.0}
servers: [{url: 'https://pets.example.com'}]
paths:
  /pets:
    get:
      operationId: listPets
      tags: [pets]
      parameters:
        - $ref: '#/components/parameters/Page'
    post:
      operationId: addPet
      tags: [pets]
      security: [{api_key: []}]
  /admin:
    get: {operationId: admin, tags: [admin]}
components:
  securitySchemes:
    api_key: {type: apiKey, in: header, name: X-Key}
";

const CONFIG: &str = "store = \"memory\"
[sources.Pets]
kind = \"openapi\"
document = \"pets.yaml\"
patch = \"patch.yaml\"
include = [\"pets\"]
";

const PATCH: &str = "- op: add
  path: /components/parameters
  value: {Page: {name: page, in: query, schema: {type: integer}}}
";

fn files(config: &str) -> tempfile::TempDir {
    let folder = folder(config);
    fs::write(folder.path().join("pets.yaml"), PETS).expect("written");
    fs::write(folder.path().join("patch.yaml"), PATCH).expect("written");
    folder
}

#[track_caller]
fn check(folder: &Path, words: &[&str], expect: &[&str]) {
    let output = toolmux(folder, words);
    let told = format!("{}{}", stdout(&output), stderr(&output));
    for line in expect {
        assert!(told.contains(line), "{words:?}: {line} is not in:\n{told}");
    }
}

#[test]
fn faults_of_a_document_have_their_place_and_operations_their_reason() {
    let folder = files(CONFIG);
    check(
        folder.path(),
        &["check", "pets.yaml"],
        &[
            "pets.yaml:10:17: the reference `#/components/parameters/Page` leads nowhere",
            "pets.yaml:7:7: parameter 0: `#/components/parameters/Page` leads nowhere",
            "1 of 3 operations served",
            "not served: listPets: parameter 0",
            "not served: addPet: it needs the secret `api_key`",
        ],
    );
    check(
        folder.path(),
        &["check", "toolmux.toml"],
        &[
            "valid configuration with 1 source",
            "Pets: 1 of 3 operations served",
            "not served: addPet: it needs the secret `api_key`",
            "not in `include`: 1: admin",
        ],
    );
    let told = toolmux(folder.path(), &["check", "toolmux.toml", "--json"]);
    let told: Value = serde_json::from_str(&stdout(&told)).expect("JSON");
    assert_eq!(told[0]["sources"][0]["served"][0], "listPets");
    assert_eq!(told[0]["sources"][0]["not_included"][0], "admin");
}

#[test]
fn what_is_not_configured_is_told_and_what_is_named_is_served() {
    let folder = files(CONFIG);
    let words = ["tools", "--why", "Pets.addPet"];
    check(folder.path(), &words, &["served     no", "it needs the secret `api_key`"]);
    let named = format!("{CONFIG}secrets = [\"api_key\"]\n[secrets]\napi_key = \"k\"\n");
    fs::write(folder.path().join("toolmux.toml"), named).expect("written");
    check(folder.path(), &words, &["served     yes", "Pets.addPet@1.0.0"]);
    check(folder.path(), &["check", "toolmux.toml"], &["Pets: 2 of 3 operations served"]);
    let headers = format!("{CONFIG}headers = {{ X-Key = \"k\" }}\n");
    fs::write(folder.path().join("toolmux.toml"), headers).expect("written");
    check(folder.path(), &words, &["served     yes"]);
    let rule = "[tools.\"Pets.addPet\"]\nrequires = { secrets = [\"mine\"] }\n[secrets]\nmine = \"k\"\n";
    fs::write(folder.path().join("toolmux.toml"), format!("{CONFIG}{rule}")).expect("written");
    check(folder.path(), &words, &["served     yes", "\"mine\""]);
    check(folder.path(), &["check", "toolmux.toml"], &["Pets: 2 of 3 operations served"]);
}

#[test]
fn what_a_document_asks_for_is_offered() {
    let folder = files("store = \"memory\"\n");
    check(
        folder.path(),
        &["add", "pets.yaml", "--name", "Pets"],
        &[
            "found pets.yaml: an OpenAPI document",
            "kind = \"openapi\"\ndocument = \"pets.yaml\"",
            "secrets = [\"api_key\"]",
            "api_key = { env = \"PETS_API_KEY\" }",
        ],
    );
    check(folder.path(), &["tools", "pets.yaml"], &["pets.admin@1.0.0"]);
}

#[test]
fn a_document_that_cannot_be_read_says_where() {
    let folder = files(CONFIG);
    fs::write(folder.path().join("bad.yaml"), "openapi: 3.0.0\npaths: [").expect("written");
    check(folder.path(), &["check", "bad.yaml"], &["bad.yaml`:", "not YAML"]);
    fs::write(folder.path().join("old.json"), "{ \"swagger\": \"1.2\" }").expect("written");
    check(folder.path(), &["check", "old.json"], &["old.json:1:1: OpenAPI \"1.2\" is not known"]);
    fs::write(folder.path().join("patch.yaml"), "- {op: remove, path: /nowhere}").expect("written");
    check(
        folder.path(),
        &["check", "toolmux.toml"],
        &["operation 0 of the patch: there is nothing at `/nowhere`"],
    );
}

/// The names and schemas of the tools that a server describes.
fn described(server: &Serving) -> BTreeMap<String, Value> {
    let (_, text) = server.get("/rest/openapi.json", "");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let paths = document["paths"].as_object().expect("paths").iter();
    let body = |operation: &Value| {
        let mut schema = operation["post"]["requestBody"]["content"]["application/json"]["schema"].clone();
        // Requiring nothing is the same as not requiring.
        schema.as_object_mut().expect("an object").retain(|_, value| *value != Value::Array(Vec::new()));
        schema
    };
    paths.map(|(path, operation)| (path.clone(), body(operation))).collect()
}

#[test]
fn our_own_api_read_as_a_source_gives_the_same_tools() {
    let tools = "[sources.Kit]\nkind = \"command\"\n[sources.Kit.tools.join]\ndescription = \"Joins\"\n\
                 command = [\"echo\", \"{left}\", \"{count}\"]\nparameters.left = { type = \"string\", minLength = 1 }\n\
                 parameters.count = { type = \"integer\", required = false }\n\
                 [sources.Kit.tools.now]\ndescription = \"Nothing to say\"\ncommand = [\"echo\", \"now\"]\n";
    let upstream_folder = folder(tools);
    let upstream = Serving::start(upstream_folder.path());
    let here = folder(&format!(
        "[sources.Kit]\nkind = \"openapi\"\nnames = \"bare\"\nurl = \"http://{0}/rest\"\n\
         document = \"http://{0}/rest/openapi.json\"\n",
        upstream.address
    ));
    let relay = Serving::start(here.path());
    assert_eq!(described(&relay), described(&upstream));
    for (tool, arguments) in
        [("Kit_join", r#"{"left":"a","count":2}"#), ("Kit_now", "{}"), ("Kit_join", "{}")]
    {
        let asked = |server: &Serving| server.post(&format!("/rest/{tool}"), "", arguments.as_bytes());
        assert_eq!(asked(&relay), asked(&upstream), "{tool} {arguments}");
    }
}
