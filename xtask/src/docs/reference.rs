//! The tables of settings in docs/, made of the doc comments in the code. A page has them between `<!-- reference: NAME -->`
//! and `<!-- /reference -->`; NAME is `file`, or the kind of a source. A table that is not what the code says now is a
//! failure of the `docs` step.

use std::fs;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::process;
use crate::workspace::Workspace;

const BEGIN: &str = "<!-- reference: ";
const END: &str = "<!-- /reference -->";

/// Writes every table anew.
pub(crate) fn write(workspace: &Workspace) -> anyhow::Result<()> {
    for (path, _, new) in pages(workspace)? {
        fs::write(workspace.root.join(path), new)?;
    }
    Ok(())
}

/// Whether every table is what the code says now.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<()> {
    match pages(workspace)?.into_iter().find(|(_, old, new)| old != new) {
        Some((path, ..)) => bail!("{path} is not what the code says now: run `cargo xtask reference`"),
        None => Ok(()),
    }
}

/// Path, present text and new text of every page.
fn pages(workspace: &Workspace) -> anyhow::Result<Vec<(String, String, String)>> {
    let mut cargo = workspace.cargo();
    let schemas = process::capture(cargo.args(["run", "-q", "-p", "toolmux", "--example", "config_schema"]))?;
    let schemas: Value = serde_json::from_str(&schemas)?;
    let renew = |path: String| {
        let old = fs::read_to_string(workspace.root.join(&path))?;
        let new = renewed(&old, &schemas).with_context(|| path.clone())?;
        Ok((path, old, new))
    };
    super::pages(workspace)?.into_iter().map(renew).collect()
}

fn renewed(page: &str, schemas: &Value) -> anyhow::Result<String> {
    let mut parts = page.split(BEGIN);
    let mut new = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").context("a reference has no name")?;
        let (_, after) = rest.split_once(END).with_context(|| format!("reference `{name}` has no end"))?;
        let schema = if name == "file" { &schemas["file"] } else { &schemas["sources"][name] };
        if schema.is_null() {
            bail!("there is nothing called `{name}`");
        }
        let mut table = Table { root: schema, rows: Vec::new() };
        table.members("", schema);
        let head = "| key | value | meaning |\n|---|---|---|";
        let rows = table.rows.join("\n");
        new = [&new, BEGIN, name, " -->\n", head, "\n", &rows, "\n", END, after].concat();
    }
    Ok(new)
}

struct Table<'a> {
    root: &'a Value,
    rows: Vec<String>,
}

impl<'a> Table<'a> {
    /// A row for each member, with the members of its own below it.
    fn members(&mut self, above: &str, schema: &'a Value) {
        let required = |name: &str| {
            schema["required"].as_array().is_some_and(|required| required.iter().any(|known| known == name))
        };
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let key = format!("{above}{name}");
            let shape = self.shape(member);
            let meaning = member["description"].as_str().or_else(|| shape["description"].as_str());
            let meaning = meaning.unwrap_or_default().replace('\n', " ").replace('|', "\\|");
            let needed = if required(name) { "**Required.** " } else { "" };
            let (kind, default) = (self.kind(shape), default(member));
            self.rows.push(format!("| `{key}` | {kind} | {needed}{meaning}{default} |"));
            self.below(&key, shape);
        }
    }

    fn below(&mut self, key: &str, shape: &'a Value) {
        if shape["properties"].is_object() {
            self.members(&format!("{key}."), shape);
        } else if shape["additionalProperties"].is_object() {
            let inner = self.shape(&shape["additionalProperties"]);
            self.members(&format!("{key}.NAME."), inner);
        } else if shape["items"].is_object() {
            let inner = self.shape(&shape["items"]);
            self.members(&format!("{key}[]."), inner);
        } else if let Some(choices) = shape["anyOf"].as_array()
            && self.kind(shape) != "secret"
        {
            for choice in choices {
                let table = self.shape(choice);
                if table["properties"].is_object() {
                    self.below(key, table);
                }
            }
        }
    }

    /// Behind references, and without the word that a member may be absent.
    fn shape(&self, schema: &'a Value) -> &'a Value {
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
            return &self.root["$defs"][name];
        }
        match schema["anyOf"].as_array().map(Vec::as_slice) {
            Some([one, null]) if null["type"] == "null" => self.shape(one),
            _ => schema,
        }
    }

    fn kind(&self, shape: &'a Value) -> String {
        let words = |choices: &'a Value| {
            let names = choices.as_array()?.iter().filter_map(|c| c.as_str().or_else(|| c["const"].as_str()));
            Some(names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
                .filter(|all| !all.is_empty())
        };
        if let Some(choices) = words(&shape["enum"]).or_else(|| words(&shape["oneOf"])) {
            return choices;
        }
        if let Some(choices) = shape["anyOf"].as_array() {
            let choices: Vec<&Value> = choices.iter().map(|choice| self.shape(choice)).collect();
            if choices.iter().any(|choice| choice["properties"]["file"].is_object()) {
                return "secret".to_owned();
            }
            return choices.into_iter().map(|choice| self.kind(choice)).collect::<Vec<_>>().join(" or ");
        }
        let kind = shape["type"].as_str().or_else(|| shape["type"][0].as_str());
        match kind {
            Some("array") => format!("array of {}", several(self.kind(self.shape(&shape["items"])))),
            Some("object") if shape["properties"].is_object() => "table".to_owned(),
            Some("object") => match &shape["additionalProperties"] {
                inner @ Value::Object(_) => format!("table of {}", several(self.kind(self.shape(inner)))),
                _ => "table".to_owned(),
            },
            Some(other) => other.to_owned(),
            None => "any".to_owned(),
        }
    }
}

/// The plural of a type that is one word.
fn several(kind: String) -> String {
    if kind.chars().all(char::is_alphabetic) { kind + "s" } else { kind }
}

fn default(member: &Value) -> String {
    let shown = member.get("default").filter(|value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    });
    shown.map(|value| format!(" Default `{value}`.")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::renewed;
    use serde_json::json;

    #[test]
    fn a_table_is_made_of_what_the_code_says() {
        let schemas = json!({ "file": {
            "properties": {
                "listen": { "type": ["string", "null"], "description": "Where." },
                "box": { "$ref": "#/$defs/Box", "description": "How." },
                "keys": { "type": "object", "additionalProperties": { "$ref": "#/$defs/Key" }, "description": "Who." },
            },
            "required": ["listen"],
            "$defs": { "Box": { "anyOf": [{ "enum": ["off"] }, { "type": "object", "properties": {
                "read": { "type": "array", "items": { "type": "string" }, "description": "What." },
            } }] }, "Key": { "type": "object", "properties": {
                "sort": { "enum": ["a", "b"], "description": "Which.", "default": "a" },
            } } },
        } });
        let page = "before\n<!-- reference: file -->\nold\n<!-- /reference -->\nafter\n";
        let expect = "before\n<!-- reference: file -->\n| key | value | meaning |\n|---|---|---|\n\
                      | `listen` | string | **Required.** Where. |\n| `box` | `off` or table | How. |\n\
                      | `box.read` | array of strings | What. |\n| `keys` | table of tables | Who. |\n\
                      | `keys.NAME.sort` | `a`, `b` | Which. Default `\"a\"`. |\n<!-- /reference -->\nafter\n";
        assert_eq!(renewed(page, &schemas).unwrap(), expect);
        assert!(renewed("<!-- reference: none --><!-- /reference -->", &schemas).is_err());
    }
}
