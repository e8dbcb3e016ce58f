//! An OpenRPC document: its methods, its servers, and its faults. A bad method costs only itself.

use serde_json::Value;
use toolmux_core::json_text::read_strict;
use toolmux_core::version::Version;

use super::method::{MethodReader, RpcMethod};
use super::schemas::Schemas;
use super::server::server_of;
use crate::documents::fault::{Fault, Faults, Path, Weight, not_json, without_bom};

/// What a document describes.
#[derive(Debug)]
pub(super) struct OpenRpcDocument {
    pub(super) methods: Vec<RpcMethod>,
    /// Methods that cannot be called, each with the reason.
    pub(super) unusable: Vec<(String, String)>,
    /// The address of the first server, as it is written.
    pub(super) server: Option<String>,
}

/// Every fault of a text as an OpenRPC document; none means it is good.
pub(super) fn check(text: &str) -> Vec<Fault> {
    read(text).1
}

/// Reads a document as far as it can be used; none when it cannot be at all.
pub(super) fn read(text: &str) -> (Option<OpenRpcDocument>, Vec<Fault>) {
    let text = without_bom(text);
    let value = match read_strict(text) {
        Ok(value) => value,
        Err(error) => return (None, vec![not_json(&error)]),
    };
    let mut faults = Faults::default();
    let document = read_value(&value, &mut faults);
    (document, faults.placed(text))
}

fn read_value(document: &Value, faults: &mut Faults) -> Option<OpenRpcDocument> {
    let root = Path::Root;
    if !document.is_object() {
        faults.fatal(&root, "an OpenRPC document must be an object", "write one JSON object");
        return None;
    }
    match document.get("openrpc").and_then(Value::as_str) {
        Some(version) if version.starts_with("1.") => {}
        Some(_) => {
            faults.tolerable(&root.member("openrpc"), "is not a version of OpenRPC 1", "write `1.3.2`");
        }
        None => faults.missing(
            &root,
            "openrpc",
            Weight::Tolerable,
            "name the version of OpenRPC, such as `1.3.2`",
        ),
    }
    let version = document.pointer("/info/version").and_then(Value::as_str);
    if version.is_none() {
        let remedy = "give `info` with `title` and `version`; tools have version 1.0.0 without it";
        faults.missing(&root.member("info"), "version", Weight::Tolerable, remedy);
    }
    let at = root.member("methods");
    let Some(list) = document.get("methods").and_then(Value::as_array) else {
        faults.missing(&root, "methods", Weight::Fatal, "list the methods of the server");
        return None;
    };
    let version = version.map_or(Version::FIRST, Version::nearest);
    let mut reader = MethodReader { document, schemas: Schemas::new(document), version };
    let (mut methods, mut unusable) = (Vec::new(), Vec::new());
    for (index, method) in list.iter().enumerate() {
        let before = faults.fatal_count();
        match reader.read(&at.item(index), method, faults) {
            Some(method) => methods.push(method),
            None => {
                let name = method.get("name").and_then(Value::as_str).unwrap_or("?").to_owned();
                let reason = faults.words_since(before);
                unusable.push((
                    name,
                    reason.unwrap_or_else(|| "the document has too many faults to name".into()),
                ));
            }
        }
    }
    Some(OpenRpcDocument { methods, unusable, server: server_of(document) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolmux_core::tool::Returns;

    use super::*;

    fn fruit() -> Value {
        json!({
            "openrpc": "1.3.2", "info": { "title": "Fruit", "version": "2.1.0" },
            "servers": [{ "url": "http://{host}:8545/", "variables": { "host": { "default": "h" } } }],
            "methods": [{
                "name": "basket.add", "summary": "Adds", "description": "Adds a fruit", "paramStructure": "by-name",
                "params": [
                    { "name": "fruit", "required": true, "schema": { "$ref": "#/components/schemas/Fruit" } },
                    { "$ref": "#/components/contentDescriptors/Count" },
                ],
                "result": { "name": "tree", "schema": { "$ref": "#/components/schemas/Tree" } },
            }, { "name": "notify", "params": [] }, { "name": "bad", "params": [{}] }],
            "components": {
                "schemas": {
                    "Fruit": { "type": "object", "properties": { "tree": { "$ref": "#/components/schemas/Tree" } } },
                    "Tree": { "type": "array", "items": { "$ref": "#/components/schemas/Tree" } },
                    "Unused": {},
                },
                "contentDescriptors": { "Count": { "name": "count", "description": "How many", "schema": { "type": "integer" } } },
            },
        })
    }

    #[test]
    fn references_are_kept_beside_the_schema_and_recursive_ones_end() {
        let (document, faults) = read(&fruit().to_string());
        let document = document.unwrap();
        assert_eq!(document.server.as_deref(), Some("http://h:8545/"));
        let [add, notify] = document.methods.as_slice() else { panic!("{:?}", document.methods) };
        let tree = json!({ "type": "array", "items": { "$ref": "#/$defs/Tree" } });
        assert_eq!(
            *add.tool.input.value(),
            json!({
                "type": "object",
                "properties": {
                    "fruit": { "$ref": "#/$defs/Fruit" },
                    "count": { "type": "integer", "description": "How many" },
                },
                "required": ["fruit"], "additionalProperties": false,
                "$defs": {
                    "Fruit": { "type": "object", "properties": { "tree": { "$ref": "#/$defs/Tree" } } },
                    "Tree": tree,
                },
            })
        );
        add.tool.input.compile().unwrap();
        assert_eq!(add.tool.description, "Adds\n\nAdds a fruit");
        assert_eq!(add.tool.version, Version::new(2, 1, 0));
        let Returns::Matching(schema) = &add.tool.returns else { panic!("it has a result") };
        assert_eq!(*schema.value(), json!({ "$ref": "#/$defs/Tree", "$defs": { "Tree": tree } }));
        assert!(!notify.answers && notify.tool.returns == Returns::Nothing);
        let what = "`name` is missing at `$.methods[2].params[0].name`";
        assert_eq!(document.unusable, [("bad".to_owned(), what.to_owned())]);
        assert_eq!(faults.len(), 1);
    }

    #[test]
    fn faults_have_their_place() {
        let check = |text: &str, expect: &str| {
            let faults = check(text);
            assert!(
                faults.iter().any(|fault| fault.to_string().contains(expect)),
                "{expect} is not in {faults:?}"
            );
        };
        check("{", "1:1: the text is not JSON");
        check("[]", "1:1: an OpenRPC document must be an object at `$`");
        check("{\"openrpc\":\"1.0.0\"}", "`methods` is missing at `$.methods`");
        check("{\"openrpc\":\"2\",\n \"methods\":[]}", "1:12: is not a version of OpenRPC 1 at `$.openrpc`");
        let twice = json!({ "openrpc": "1.3.2", "info": { "version": "1" }, "methods": [
            { "name": "m", "params": [{ "name": "a" }, { "name": "a" }], "paramStructure": "any" }] });
        check(&twice.to_string(), "there are two parameters `a` at `$.methods[0].params[1]`");
        check(&twice.to_string(), "is none of the structures");
        let cycle = json!({ "openrpc": "1.3.2", "methods": [{ "$ref": "#/methods/0" }] });
        check(&cycle.to_string(), "a method must be an object, or a reference to one");
    }

    #[test]
    fn many_methods_that_refer_to_much_cost_only_what_they_are() {
        let names: Vec<String> = (0..200).map(|index| format!("S{index}")).collect();
        let refers = |name: &String| json!({ "$ref": format!("#/components/schemas/{name}") });
        let all: Vec<Value> = names.iter().map(refers).collect();
        let schemas: serde_json::Map<String, Value> = names
            .iter()
            .map(|name| (name.clone(), json!({ "anyOf": all, "description": "x".repeat(10_000) })))
            .collect();
        let method = |index: usize| json!({ "name": format!("m{index}"), "params": [{ "name": "a", "schema": { "$ref": "#/components/schemas/S0" } }] });
        let methods: Vec<Value> = (0..2_000).map(method).collect();
        let document = json!({ "openrpc": "1.3.2", "info": { "version": "1" }, "methods": methods,
            "components": { "schemas": schemas } });
        let (document, _) = read(&document.to_string());
        let document = document.unwrap();
        assert_eq!((document.methods.len(), document.unusable.len()), (0, 2_000));
        assert!(document.unusable[0].1.contains("more than 1048576 bytes"), "{:?}", document.unusable[0]);
        assert!(document.unusable[900].1.contains("67108864 bytes in all"), "{:?}", document.unusable[900]);
    }
}
