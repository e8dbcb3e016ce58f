//! One method of a document as a tool.

use serde_json::{Map, Value, json};
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Hints, Returns, Tool};
use toolmux_core::version::Version;

use super::params::ParamStructure;
use super::schemas::{Definitions, Schemas, resolved};
use crate::documents::fault::{Faults, Path, Weight};

/// A method, with the tool that it is.
#[derive(Clone, Debug)]
pub(super) struct RpcMethod {
    pub(super) tool: Tool,
    pub(super) structure: ParamStructure,
    /// The names of its parameters, in the order of their positions.
    pub(super) params: Vec<String>,
    /// It has a result, and so an answer.
    pub(super) answers: bool,
}

/// The parameters of one method, as far as they are read.
#[derive(Default)]
struct Params {
    /// In the order of their positions.
    names: Vec<String>,
    properties: Map<String, Value>,
    required: Vec<String>,
    definitions: Definitions,
}

/// Reads methods of one document.
pub(super) struct MethodReader<'a> {
    pub(super) document: &'a Value,
    pub(super) schemas: Schemas<'a>,
    pub(super) version: Version,
}

impl<'a> MethodReader<'a> {
    /// Reads a method; what is wrong with it is told, and it is none then.
    pub(super) fn read(
        &mut self,
        at: &Path<'_>,
        method: &'a Value,
        faults: &mut Faults,
    ) -> Option<RpcMethod> {
        let before = faults.fatal_count();
        let Some(method) = resolved(self.document, method).filter(|method| method.is_object()) else {
            faults.fatal(at, "a method must be an object, or a reference to one", "describe the method here");
            return None;
        };
        let Some(name) = method.get("name").and_then(Value::as_str) else {
            faults.missing(at, "name", Weight::Fatal, "give the name by which the server knows the method");
            return None;
        };
        let (params, mut input, definitions) = self.params(at, method, faults)?;
        definitions.put_into(&mut input);
        let structure = structure(at, method, faults);
        let returns = self.returns(at, method, faults);
        if faults.fatal_count() > before {
            return None;
        }
        let mut tool = Tool::new(name, description(method), Schema::new(input));
        tool.version = self.version;
        tool.hints = Hints { open_world: Some(true), ..Hints::default() };
        let answers = returns.is_some();
        tool.returns = returns.unwrap_or(Returns::Nothing);
        Some(RpcMethod { tool, structure, params, answers })
    }

    /// The names of the parameters, their schema, and what that refers to.
    fn params(
        &mut self,
        at: &Path<'_>,
        method: &'a Value,
        faults: &mut Faults,
    ) -> Option<(Vec<String>, Value, Definitions)> {
        let at = at.member("params");
        let list: &[Value] = match method.get("params") {
            None => &[],
            Some(Value::Array(list)) => list,
            Some(_) => {
                faults.fatal(&at, "must be a list", "list the parameters in the order of their positions");
                return None;
            }
        };
        let mut params = Params::default();
        for (index, param) in list.iter().enumerate() {
            self.param(&at.item(index), param, &mut params, faults);
        }
        let Params { names, properties, required, definitions } = params;
        let input = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false
        });
        Some((names, input, definitions))
    }

    fn param(&mut self, at: &Path<'_>, param: &'a Value, params: &mut Params, faults: &mut Faults) {
        let Some(param) = resolved(self.document, param).filter(|param| param.is_object()) else {
            faults.fatal(at, "a parameter must be an object, or a reference to one", "describe it here");
            return;
        };
        let Some(name) = param.get("name").and_then(Value::as_str) else {
            faults.missing(at, "name", Weight::Fatal, "give the parameter a name");
            return;
        };
        if params.properties.contains_key(name) {
            faults.fatal(at, format!("there are two parameters `{name}`"), "give each a name of its own");
            return;
        }
        let schema = param.get("schema").unwrap_or(&Value::Bool(true));
        match self.schemas.keep(schema, &mut params.definitions) {
            Ok(schema) => drop(params.properties.insert(name.to_owned(), with_description(schema, param))),
            Err(what) => faults.unusable(at, what, "describe the parameter by a smaller schema"),
        }
        if param.get("required") == Some(&Value::Bool(true)) {
            params.required.push(name.to_owned());
        }
        params.names.push(name.to_owned());
    }

    /// What the method gives; none for a notification.
    fn returns(&mut self, at: &Path<'_>, method: &'a Value, faults: &mut Faults) -> Option<Returns> {
        let result = method.get("result")?;
        let at = at.member("result");
        let schema = resolved(self.document, result).and_then(|result| result.get("schema"));
        let Some(schema) =
            schema.filter(|schema| schema.as_object().is_some_and(|members| !members.is_empty()))
        else {
            return Some(Returns::Anything);
        };
        let mut definitions = Definitions::default();
        match self.schemas.keep(schema, &mut definitions) {
            Ok(mut schema) => {
                definitions.put_into(&mut schema);
                Some(Returns::Matching(Schema::new(schema)))
            }
            Err(what) => {
                faults.warning(&at, what, "results are not checked; describe them by a smaller schema");
                Some(Returns::Anything)
            }
        }
    }
}

fn structure(at: &Path<'_>, method: &Value, faults: &mut Faults) -> ParamStructure {
    match method.get("paramStructure").map(|structure| structure.as_str().unwrap_or_default()) {
        None | Some("either") => ParamStructure::Either,
        Some("by-name") => ParamStructure::ByName,
        Some("by-position") => ParamStructure::ByPosition,
        Some(_) => {
            let remedy = "write `by-name`, `by-position` or `either`";
            faults.tolerable(&at.member("paramStructure"), "is none of the structures", remedy);
            ParamStructure::Either
        }
    }
}

fn description(method: &Value) -> String {
    let text =
        |name: &str| method.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let deprecated = (method.get("deprecated") == Some(&Value::Bool(true))).then_some("Deprecated.");
    let mut parts: Vec<&str> =
        [text("summary"), text("description"), deprecated].into_iter().flatten().collect();
    parts.dedup();
    parts.join("\n\n")
}

/// What the document says about a parameter, where its schema says nothing.
fn with_description(mut schema: Value, param: &Value) -> Value {
    let text = |name: &str| param.get(name).filter(|text| text.is_string());
    if let (Some(members), Some(text)) = (schema.as_object_mut(), text("description").or(text("summary")))
        && !members.contains_key("description")
    {
        members.insert("description".to_owned(), text.clone());
    }
    schema
}
