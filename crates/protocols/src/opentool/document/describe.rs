//! A document's functions as tools of the catalogue. What the catalogue has no word for (two descriptions
//! of one parameter, the name of a return, streams, members nobody specified) goes along with it.

use serde_json::{Map, Value, json};
use toolmux_core::json_text::to_raw;
use toolmux_core::schema;
use toolmux_core::tool::{Passthrough, Returns, Tool};
use toolmux_core::version::Version;

use super::objects::{Function, FunctionSchema, OpenTool, Parameter, Return, Type, Typed};
use crate::opentool::PROTOCOL;

impl OpenTool {
    /// The tools that the functions are.
    pub fn tools(&self) -> Vec<Tool> {
        let version = Version::nearest(&self.info.version);
        self.functions.iter().map(|function| self.resolve(function).tool(version)).collect()
    }
}

impl Function {
    /// The tool that a function without references is.
    fn tool(&self, version: Version) -> Tool {
        let mut tool =
            Tool::new(self.name.as_str(), self.description.as_str(), schema::Schema::new(self.input()));
        tool.version = version;
        tool.returns = match &self.returns {
            Some(returns) => Returns::Matching(schema::Schema::new(given(returns))),
            None if self.stream.is_empty() => Returns::Nothing,
            None => Returns::Anything,
        };
        tool.extra = Passthrough::of(PROTOCOL, to_raw(self).expect("a function has text keys only"));
        tool
    }

    /// One JSON Schema of all parameters. Others are not forbidden: real servers take more than they tell.
    fn input(&self) -> Value {
        let properties: Map<String, Value> =
            self.parameters.iter().map(|parameter| (parameter.name.clone(), taken(parameter))).collect();
        let required: Vec<&str> =
            self.parameters.iter().filter(|p| p.required).map(|p| p.name.as_str()).collect();
        let mut input = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            input["required"] = json!(required);
        }
        input
    }
}

fn taken(parameter: &Parameter) -> Value {
    let mut schema = json_schema(&parameter.schema);
    describe_over(&mut schema, parameter.description.as_deref());
    schema
}

/// The schema of what a call gives, which is always an object. Public servers name the members of what they
/// give as they please, so that no member is required.
fn given(returns: &Return) -> Value {
    let mut schema = json_schema(&returns.schema);
    describe_over(&mut schema, returns.description.as_deref());
    if schema["type"] != "object" {
        let properties: Map<String, Value> = [(returns.name.clone(), schema)].into_iter().collect();
        return json!({ "type": "object", "properties": properties });
    }
    if let Value::Object(members) = &mut schema {
        members.remove("required");
    }
    schema
}

fn describe_over(schema: &mut Value, description: Option<&str>) {
    let Some(over) = description.filter(|text| !text.is_empty()) else { return };
    let text = match schema["description"].as_str() {
        Some(own) if own != over => format!("{over}\n{own}"),
        _ => over.to_owned(),
    };
    schema["description"] = text.into();
}

/// A schema without references as JSON Schema.
fn json_schema(schema: &FunctionSchema) -> Value {
    match schema {
        FunctionSchema::Typed(typed) => typed_schema(typed),
        // Tools are made of resolved functions; a reference that stayed may stand for anything.
        FunctionSchema::Reference(_) => json!({}),
    }
}

fn typed_schema(typed: &Typed) -> Value {
    let mut members = Map::new();
    let nullable = typed.choices.as_ref().is_some_and(|choices| choices.contains(&Value::Null));
    let kind = typed.kind.word();
    members.insert("type".into(), if nullable { json!([kind, "null"]) } else { kind.into() });
    if let Some(description) = typed.description.as_ref().filter(|text| !text.is_empty()) {
        members.insert("description".into(), description.as_str().into());
    }
    if let Some(properties) = typed.properties.as_ref().filter(|_| typed.kind == Type::Object) {
        let properties: Map<String, Value> =
            properties.0.iter().map(|(name, schema)| (name.clone(), json_schema(schema))).collect();
        members.insert("properties".into(), properties.into());
    }
    if let Some(items) = typed.items.as_ref().filter(|_| typed.kind == Type::Array) {
        members.insert("items".into(), json_schema(items));
    }
    if let Some(choices) = &typed.choices {
        members.insert("enum".into(), choices.clone().into());
    }
    if let Some(required) =
        typed.required.as_ref().filter(|names| typed.kind == Type::Object && !names.is_empty())
    {
        members.insert("required".into(), json!(required));
    }
    Value::Object(members)
}
