//! What an upstream lists: many tools, and schemas whose references multiply. Sizes count tools.

use serde_json::{Value, json};

use super::bomb;
use crate::cost::upstream::Script;
use crate::cost::{Case, Input};

pub(super) const CASES: &[Case] = &[
    Case { name: "list-tools", about: "many plain tools", smallest: 150, input: Input::Listing(plain) },
    Case {
        name: "list-bombs",
        about: "references that multiply for one value",
        smallest: 15,
        input: Input::Listing(values),
    },
    Case {
        name: "list-wide-bombs",
        about: "references that multiply in lists",
        smallest: 15,
        input: Input::Listing(wide),
    },
    Case {
        name: "list-chains",
        about: "one schema with a long row of references",
        smallest: 250,
        input: Input::Listing(chain),
    },
    Case {
        name: "list-alternatives",
        about: "one schema of many alternatives",
        smallest: 250,
        input: Input::Listing(alternatives),
    },
    Case {
        name: "list-templates",
        about: "many templates of resources",
        smallest: 1_000,
        input: Input::Listing(templates),
    },
];

fn listing(schemas: impl Iterator<Item = Value>) -> Script {
    let tool = |(at, schema): (usize, Value)| json!({ "name": format!("tool_{at}"), "inputSchema": schema });
    let first = json!({ "name": "first", "inputSchema": { "type": "object" } });
    let tools = [first].into_iter().chain(schemas.enumerate().map(tool)).collect();
    Script { tools, ..Script::default() }
}

fn plain(n: usize) -> Script {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "$ref": "#/$defs/b" } },
        "$defs": { "b": { "type": "integer", "minimum": 1 } } });
    listing((0..n).map(move |_| schema.clone()))
}

fn values(n: usize) -> Script {
    listing((0..n).map(|_| bomb(30, |next| json!({ "allOf": [next, { "anyOf": [next, { "not": next }] }] }))))
}

fn wide(n: usize) -> Script {
    listing((0..n).map(|_| bomb(30, |next| json!({ "properties": { "a": next, "b": next }, "items": next }))))
}

fn chain(n: usize) -> Script {
    listing((0..n.min(1)).map(|_| bomb(n, |next| json!({ "properties": { "a": next } }))))
}

fn alternatives(n: usize) -> Script {
    let each: Vec<Value> = (0..n).map(|at| json!({ "properties": { "a": { "const": at } } })).collect();
    let schema = json!({ "type": "object", "anyOf": each });
    listing((0..n.min(1)).map(move |_| schema.clone()))
}

fn templates(n: usize) -> Script {
    let template =
        |at: usize| json!({ "uriTemplate": format!("item{at}://{{id}}/{{+path}}"), "name": "item" });
    Script { templates: (0..n).map(template).collect(), ..listing(std::iter::empty()) }
}
