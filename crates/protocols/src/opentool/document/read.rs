//! Reads a document of good JSON into the model and goes on after a fault, so that all are told at once.
//! A member that is `null` counts as absent: two public servers write all absent members so.

use std::collections::HashSet;

use serde_json::{Map, Value};
use toolmux_core::arguments::kind_of;

use super::objects::{DocumentServer, Function, FunctionSchema, Info, OpenTool, Parameter, Return};
use crate::documents::fault::{Faults, Path, Weight};
use crate::documents::function_list::{FunctionReader, read_functions};

/// The longest name of a function.
const NAME_LENGTH: usize = 64;

/// Functions that cannot be used, by name, each with its first fault.
pub(super) type Unusable = Vec<(String, String)>;

/// What came of reading a document.
pub(super) struct Read {
    /// The document with the functions that can be used.
    pub(super) document: OpenTool,
    /// The functions that cannot, each with its first fault.
    pub(super) unusable: Unusable,
}

/// Reads one document.
pub(super) struct Reader {
    pub(super) faults: Faults,
    /// The names that references may use.
    pub(super) schemas: Vec<String>,
}

pub(super) type Members = Map<String, Value>;

impl Reader {
    pub(super) fn new(document: &Value) -> Self {
        let schemas = document.get("schemas").and_then(Value::as_object);
        let schemas = schemas.into_iter().flat_map(|schemas| schemas.keys().cloned()).collect();
        Reader { faults: Faults::default(), schemas }
    }

    /// The document, when there is enough of one.
    pub(super) fn document(&mut self, value: &Value) -> Option<Read> {
        let at = Path::Root;
        let members = self.object(value, &at)?;
        let opentool = self.text(members, &at, "opentool", Some(Weight::Tolerable));
        let info = self.info(members, &at);
        let server = present(members, "server").and_then(|server| self.server(server, &at.member("server")));
        let schemas = self.schemas(members, &at);
        let (functions, unusable) = self.functions(members, &at)?;
        let document = OpenTool {
            opentool: opentool.unwrap_or_else(|| "1.0.0".to_owned()),
            info,
            server,
            functions,
            schemas,
            extra: rest(members, &["opentool", "info", "server", "functions", "schemas"]),
        };
        Some(Read { document, unusable })
    }

    fn info(&mut self, members: &Members, at: &Path<'_>) -> Info {
        let mut info =
            Info { title: String::new(), description: None, version: "1.0.0".to_owned(), extra: Map::new() };
        let Some(value) = present(members, "info") else {
            let remedy = "add `\"info\": {\"title\": \"…\", \"version\": \"1.0.0\"}`";
            self.faults.missing(at, "info", Weight::Tolerable, remedy);
            return info;
        };
        let at = at.member("info");
        let Some(members) = self.object(value, &at) else { return info };
        if let Some(title) = self.text(members, &at, "title", Some(Weight::Tolerable)) {
            info.title = title;
        }
        if let Some(version) = self.text(members, &at, "version", Some(Weight::Tolerable)) {
            info.version = version;
        }
        info.description = self.text(members, &at, "description", None);
        info.extra = rest(members, &["title", "description", "version"]);
        info
    }

    fn server(&mut self, value: &Value, at: &Path<'_>) -> Option<DocumentServer> {
        let members = self.object(value, at)?;
        Some(DocumentServer {
            url: self.text(members, at, "url", Some(Weight::Fatal))?,
            description: self.text(members, at, "description", None),
            extra: rest(members, &["url", "description"]),
        })
    }

    fn schemas(&mut self, members: &Members, at: &Path<'_>) -> Vec<(String, FunctionSchema)> {
        let Some(value) = present(members, "schemas") else { return Vec::new() };
        let at = at.member("schemas");
        let Some(members) = self.object(value, &at) else { return Vec::new() };
        let schema =
            |(name, value): (&String, &Value)| Some((name.clone(), self.schema(value, &at.member(name))?));
        members.iter().filter_map(schema).collect()
    }

    fn functions(&mut self, members: &Members, at: &Path<'_>) -> Option<(Vec<Function>, Unusable)> {
        let Some(value) = present(members, "functions") else {
            self.faults.missing(
                at,
                "functions",
                Weight::Fatal,
                "add `\"functions\": []` and list them in it",
            );
            return None;
        };
        let at = at.member("functions");
        let items = self.array(value, &at)?;
        Some(read_functions(self, items, &at))
    }

    pub(super) fn function(&mut self, value: &Value, at: &Path<'_>) -> Option<Function> {
        let members = self.object(value, at)?;
        let name = self.text(members, at, "name", Some(Weight::Fatal));
        if let Some(name) = &name {
            self.function_name(name, &at.member("name"));
        }
        if members.contains_key("returns") && !members.contains_key("return") {
            let what = "`returns` is a shape from before the specification";
            self.faults.fatal(&at.member("returns"), what, "call the member `return`");
        }
        let description = self.text(members, at, "description", Some(Weight::Tolerable)).unwrap_or_default();
        let parameters = self.parameters(members, at);
        let returns = present(members, "return").and_then(|value| self.returns(value, &at.member("return")));
        let stream = self.stream(members, at);
        Some(Function {
            name: name?,
            description,
            parameters,
            returns,
            stream,
            extra: rest(members, &["name", "description", "parameters", "return", "stream"]),
        })
    }

    fn function_name(&mut self, name: &str, at: &Path<'_>) {
        let good = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if name.is_empty() {
            self.faults.fatal(at, "the name is empty", "name the function");
        } else if !name.bytes().all(good) {
            let what = format!("the name `{name}` has letters outside `A-Z a-z 0-9 _ -`");
            self.faults.tolerable(at, what, "write `_` for every other letter");
        } else if name.len() > NAME_LENGTH {
            let what = format!("the name has {} letters, more than {NAME_LENGTH}", name.len());
            self.faults.tolerable(at, what, "choose a shorter name");
        }
    }

    fn parameters(&mut self, members: &Members, at: &Path<'_>) -> Vec<Parameter> {
        let Some(value) = present(members, "parameters") else {
            let remedy = "add `\"parameters\": []` to a function that takes nothing";
            self.faults.missing(at, "parameters", Weight::Tolerable, remedy);
            return Vec::new();
        };
        let at = at.member("parameters");
        if value.is_object() {
            let what = "`parameters` is an object, a shape from before the specification";
            let remedy =
                "write an array of `{\"name\": …, \"description\": …, \"schema\": {…}, \"required\": true}`";
            self.faults.fatal(&at, what, remedy);
            return Vec::new();
        }
        let Some(items) = self.array(value, &at) else { return Vec::new() };
        let mut names = HashSet::new();
        let mut parameters = Vec::new();
        for (index, value) in items.iter().enumerate() {
            let at = at.item(index);
            let Some(parameter) = self.parameter(value, &at) else { continue };
            if !names.insert(parameter.name.clone()) {
                let what = format!("there is another parameter `{}`", parameter.name);
                self.faults.fatal(&at.member("name"), what, "give every parameter a unique name");
            }
            parameters.push(parameter);
        }
        parameters
    }

    fn parameter(&mut self, value: &Value, at: &Path<'_>) -> Option<Parameter> {
        let members = self.object(value, at)?;
        let name = self.text(members, at, "name", Some(Weight::Fatal));
        let description = self.text(members, at, "description", None);
        let schema = self.needed_schema(members, at);
        let required = match present(members, "required") {
            Some(Value::Bool(required)) => *required,
            Some(other) => {
                let what = format!("`required` must be true or false, not {}", kind_of(other));
                self.faults.fatal(&at.member("required"), what, "write `true` or `false`");
                false
            }
            None => {
                let remedy = "write `\"required\": true` or `\"required\": false`";
                self.faults.missing(at, "required", Weight::Tolerable, remedy);
                false
            }
        };
        Some(Parameter {
            name: name?,
            description,
            schema: schema?,
            required,
            extra: rest(members, &["name", "description", "schema", "required"]),
        })
    }

    fn returns(&mut self, value: &Value, at: &Path<'_>) -> Option<Return> {
        let members = self.object(value, at)?;
        let name = self.text(members, at, "name", Some(Weight::Tolerable));
        let description = self.text(members, at, "description", None);
        Some(Return {
            name: name.unwrap_or_else(|| "result".to_owned()),
            description,
            schema: self.needed_schema(members, at)?,
            extra: rest(members, &["name", "description", "schema"]),
        })
    }

    fn stream(&mut self, members: &Members, at: &Path<'_>) -> Vec<(String, Return)> {
        let Some(value) = present(members, "stream") else { return Vec::new() };
        let at = at.member("stream");
        let Some(members) = self.object(value, &at) else { return Vec::new() };
        let event =
            |(name, value): (&String, &Value)| Some((name.clone(), self.returns(value, &at.member(name))?));
        members.iter().filter_map(event).collect()
    }

    fn needed_schema(&mut self, members: &Members, at: &Path<'_>) -> Option<FunctionSchema> {
        match present(members, "schema") {
            Some(value) => self.schema(value, &at.member("schema")),
            None => {
                self.faults.missing(at, "schema", Weight::Fatal, "add `\"schema\": {\"type\": \"string\"}`");
                None
            }
        }
    }

    pub(super) fn object<'v>(&mut self, value: &'v Value, at: &Path<'_>) -> Option<&'v Members> {
        let members = value.as_object();
        if members.is_none() {
            self.faults.fatal(at, format!("must be an object, not {}", kind_of(value)), "write `{…}`");
        }
        members
    }

    pub(super) fn array<'v>(&mut self, value: &'v Value, at: &Path<'_>) -> Option<&'v Vec<Value>> {
        let items = value.as_array();
        if items.is_none() {
            self.faults.fatal(at, format!("must be an array, not {}", kind_of(value)), "write `[…]`");
        }
        items
    }

    /// A text; `missed` says how bad it is when there is none.
    pub(super) fn text(
        &mut self,
        members: &Members,
        at: &Path<'_>,
        name: &str,
        missed: Option<Weight>,
    ) -> Option<String> {
        match (present(members, name), missed) {
            (Some(Value::String(text)), _) => return Some(text.clone()),
            (Some(other), _) => {
                let what = format!("`{name}` must be a string, not {}", kind_of(other));
                self.faults.fatal(&at.member(name), what, "put it in quotes");
            }
            (None, Some(weight)) => {
                self.faults.missing(at, name, weight, &format!("add `\"{name}\": \"…\"`"));
            }
            (None, None) => {}
        }
        None
    }
}

impl<'v> FunctionReader<'v> for Reader {
    type Function = Function;

    fn faults(&mut self) -> &mut Faults {
        &mut self.faults
    }

    fn read_function(&mut self, value: &'v Value, at: &Path<'_>, _: usize) -> Option<Function> {
        self.function(value, at)
    }

    fn name_of(function: &Function) -> &str {
        &function.name
    }
}

pub(super) fn present<'v>(members: &'v Members, name: &str) -> Option<&'v Value> {
    members.get(name).filter(|value| !value.is_null())
}

/// What is left besides the named members.
pub(super) fn rest(members: &Members, named: &[&str]) -> Members {
    let other = |(name, value): &(&String, &Value)| !named.contains(&name.as_str()) && !value.is_null();
    members.iter().filter(other).map(|(name, value)| (name.clone(), value.clone())).collect()
}
