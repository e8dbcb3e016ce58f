//! The library that does everything wrong, described by OpenDyn documents and called through a gateway whose
//! workers are the real binary.

#[path = "../../../dylib-host/tests/fixture/compile.rs"]
mod compile;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::{Map, Value, json};
use toolmux_core::arguments::Arguments;
use toolmux_core::gateway::{Credential, Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming};
use toolmux_protocols::opendyn;
use toolmux_protocols::registry::Opening;

use crate::process::BINARY;

pub(crate) static LIBRARY: LazyLock<PathBuf> =
    LazyLock::new(|| compile::compile(Path::new(env!("CARGO_TARGET_TMPDIR"))));

/// A gateway with libraries.
pub(crate) struct Libraries {
    gateway: Arc<Gateway>,
    folder: tempfile::TempDir,
}

impl Libraries {
    pub(crate) fn new() -> Self {
        Libraries::under(Settings::default())
    }

    pub(crate) fn under(settings: Settings) -> Self {
        let gateway = Gateway::new(settings, Arc::new(MemoryStore::default()));
        Libraries { gateway, folder: tempfile::tempdir().expect("a folder") }
    }

    /// The fixture with these functions.
    pub(crate) async fn fixture(functions: Value, settings: Value) -> Self {
        let libraries = Libraries::new();
        libraries.add("Fixture", &document(functions), &LIBRARY, settings).await;
        libraries
    }

    pub(crate) async fn add(&self, name: &str, document: &Value, library: &Path, settings: Value) {
        let file = self.folder.path().join(format!("{name}.json"));
        std::fs::write(&file, document.to_string()).expect("written");
        let mut table = json!({ "document": file, "library": library });
        let own = settings.as_object().cloned().unwrap_or_default();
        table.as_object_mut().expect("an object").extend(own);
        let no_secrets = |_: &_| Ok(Secret::new(""));
        let opening = Opening { name, table, folder: self.folder.path(), secrets: &no_secrets };
        let source = opendyn::open(&opening, BINARY.into()).expect("it opens");
        self.gateway.sources().mount(Mount::new(name, name, Naming::Prefixed, source));
        self.gateway.sources().settled(Duration::from_secs(20)).await;
    }

    /// What a call ends with.
    pub(crate) async fn outcome(&self, tool: &str, arguments: Value) -> Result<Outcome, Refusal> {
        let caller = self.gateway.admit(Credential::None, None).expect("nobody is asked for a key");
        let arguments = arguments.as_object().cloned().unwrap_or_else(Map::new);
        let reference = toolmux_core::names::ToolRef::either(tool);
        let request = toolmux_core::call::Request::new(reference, Arguments::from_map(arguments));
        self.gateway.call(&caller, request, &Progress::unheard()).await
    }

    /// What a call gives: a value, or the words of the failure or refusal.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, String> {
        match self.outcome(tool, arguments).await {
            Ok(Outcome::Returned(output)) => Ok(serde_json::from_str(output.value.get()).expect("JSON")),
            Ok(Outcome::Failed(error)) => Err(error.message.public),
            Err(refusal) => Err(refusal.message().public),
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.gateway.catalog().every().map(|entry| entry.tool.name.to_string()).collect()
    }

    /// What callers are told about a tool.
    pub(crate) fn description(&self, tool: &str) -> String {
        let catalog = self.gateway.catalog();
        let found = catalog.every().find(|entry| &*entry.tool.name == tool);
        found.expect("it is there").tool.description.clone()
    }

    /// Tools that are not served, with the reason.
    pub(crate) fn unserved(&self) -> Vec<String> {
        self.gateway.catalog().unserved().iter().map(|tool| format!("{tool:?}")).collect()
    }

    pub(crate) async fn close(&self) {
        self.gateway.close(Duration::from_secs(5)).await;
    }
}

pub(crate) fn document(functions: Value) -> Value {
    let info = json!({ "title": "Fixture", "version": "1.0.0", "callingConvention": "cdecl" });
    json!({ "opendyn": "1.0.0", "info": info, "functions": functions })
}

/// A function of the C signature: `int f(int a, double b)` by `("f", "int", [("a", "int"), …])`.
pub(crate) fn function(name: &str, returns: &str, parameters: &[(&str, &str)]) -> Value {
    let parameters: Vec<Value> =
        parameters.iter().map(|(name, c)| json!({ "name": name, "schema": schema(c) })).collect();
    let mut function = json!({ "name": name, "description": name, "parameters": parameters });
    if returns != "void" {
        function["return"] = json!({ "name": "result", "schema": schema(returns) });
    }
    function
}

/// The schema that a plain C type suggests; `char*` is a text.
pub(crate) fn schema(c: &str) -> Value {
    let kind = match c {
        "bool" => "boolean",
        "float" | "double" => "number",
        "char*" => "string",
        _ => "integer",
    };
    let pointer = c.ends_with('*');
    json!({ "type": kind, "cType": { "type": c.trim_end_matches('*'), "isPointer": pointer } })
}

/// An output parameter with members of `cType`.
pub(crate) fn output(name: &str, kind: &str, c_type: Value) -> Value {
    json!({ "name": name, "isIn": false, "schema": { "type": kind, "cType": c_type } })
}

/// Functions that make, read and free objects.
pub(crate) fn objects() -> Value {
    let handle = |closes: bool| {
        json!({ "type": "string", "cType": {
        "type": "void", "isPointer": true, "handle": "obj", "closes": closes } })
    };
    json!([
        { "name": "obj_new", "description": "d", "return": { "name": "obj", "schema": handle(false) },
          "parameters": [{ "name": "v", "schema": { "type": "integer", "cType": { "type": "int" } } }] },
        { "name": "obj_get", "description": "d", "return": { "name": "v", "schema": { "type": "integer", "cType": { "type": "int" } } },
          "parameters": [{ "name": "obj", "schema": handle(false) }] },
        { "name": "obj_free", "description": "d", "parameters": [{ "name": "obj", "schema": handle(true) }] },
        function("obj_live", "int", &[]),
        function("sleep_ms", "int", &[("n", "int")]),
        function("segv", "void", &[]),
    ])
}
