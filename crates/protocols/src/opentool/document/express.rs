//! Tools of the catalogue as functions of a document. A JSON Schema that OpenTool cannot say becomes the
//! nearest type that it can, and the rest goes into the description in words.

use std::sync::Arc;

use serde_json::{Map, Value};
use toolmux_core::catalog::Entry;
use toolmux_core::tool::{Returns, Tool};

use super::notes::{Notes, told};
use super::objects::{Function, FunctionSchema, Info, OpenTool, Parameter, Properties, Return, Type, Typed};
use crate::opentool::PROTOCOL;

/// How many schemas one function may have; what would come after is cut.
const MOST_SCHEMAS: usize = 2_000;
/// The deepest schema told; what would be below is cut.
const MOST_DEPTH: usize = 48;
/// The name of what a function gives when its author gave it none.
const RESULT: &str = "result";

/// The specification that our documents follow.
const SPECIFICATION: &str = "1.1.0";

impl OpenTool {
    /// One document of tools as we serve them, without references.
    pub fn of_entries<'a>(entries: impl IntoIterator<Item = &'a Arc<Entry>>) -> OpenTool {
        let info = Info {
            title: "toolmux".to_owned(),
            description: None,
            // The version of the document and not of the program: it becomes that of the tools elsewhere.
            version: "1.0.0".to_owned(),
            extra: Map::new(),
        };
        OpenTool {
            opentool: SPECIFICATION.to_owned(),
            info,
            server: None,
            functions: entries.into_iter().map(|entry| Function::of_entry(entry)).collect(),
            schemas: Vec::new(),
            extra: Map::new(),
        }
    }
}

impl Function {
    /// A tool as we serve it. One that came by OpenTool is told in its own words.
    pub fn of_entry(entry: &Entry) -> Function {
        let own = entry.tool.extra.of_protocol(PROTOCOL).and_then(|said| Function::read(said.get()));
        let mut function = own.unwrap_or_else(|| Function::of_tool(&entry.tool));
        function.parameters.retain(|parameter| !entry.fills(&parameter.name));
        function.name = entry.flat.to_string();
        if entry.redescribed {
            function.description.clone_from(&entry.tool.description);
        }
        function.complete();
        function
    }

    /// A tool by what the catalogue knows of it.
    pub fn of_tool(tool: &Tool) -> Function {
        let mut notes = Notes::default();
        let parameters = parameters(tool.input.value(), &mut notes);
        Function {
            name: tool.name.to_string(),
            description: notes.behind(Some(&tool.description)).unwrap_or_default(),
            parameters,
            returns: returns(&tool.returns),
            stream: Vec::new(),
            extra: Map::new(),
        }
    }

    /// Public readers look into `properties` and `items` without asking whether they are there.
    fn complete(&mut self) {
        let streams = self.stream.iter_mut().map(|(_, returns)| returns);
        let returned = self.returns.iter_mut().chain(streams).map(|returns| &mut returns.schema);
        let taken = self.parameters.iter_mut().map(|parameter| &mut parameter.schema);
        taken.chain(returned).for_each(complete);
    }
}

fn complete(schema: &mut FunctionSchema) {
    let FunctionSchema::Typed(typed) = schema else { return };
    if typed.kind == Type::Object {
        typed.properties.get_or_insert_default();
    }
    if typed.kind == Type::Array {
        typed.items.get_or_insert_with(|| anything().into());
    }
    let members = typed.properties.iter_mut().flat_map(|members| &mut members.0);
    members.for_each(|(_, schema)| complete(schema));
    typed.items.iter_mut().for_each(complete);
}

fn anything() -> Typed {
    Typed { description: Some("(any JSON value)".to_owned()), ..Typed::of(Type::String) }
}

fn untold() -> FunctionSchema {
    Typed { description: Some("(details left out)".into()), ..Typed::of(Type::Object) }.into()
}

fn parameters(input: &Value, notes: &mut Notes) -> Vec<Parameter> {
    let mut express = Express::of(input);
    let FunctionSchema::Typed(whole) = express.schema(input) else { return Vec::new() };
    if let Some(members) = input.as_object() {
        notes.keywords(members);
        for keyword in ["oneOf", "anyOf"] {
            if let Some(alternatives) = members.get(keyword) {
                notes.say(format!("arguments must fit {keyword}: {}", told(alternatives)));
            }
        }
    }
    let required = whole.required.unwrap_or_default();
    let parameter = |(name, schema): (String, FunctionSchema)| {
        let mut schema = schema;
        let description = match &mut schema {
            FunctionSchema::Typed(typed) => typed.description.take(),
            FunctionSchema::Reference(reference) => reference.description.take(),
        };
        Parameter { required: required.contains(&name), name, description, schema, extra: Map::new() }
    };
    whole.properties.unwrap_or_default().0.into_iter().map(parameter).collect()
}

/// What a call gives is an object: a value of another kind comes as `{"result": value}`, which by the custom
/// of public documents is what a return named `result` of that kind means.
fn returns(returns: &Returns) -> Option<Return> {
    let value = match returns {
        Returns::Nothing => return None,
        Returns::Anything => {
            let schema = Typed::of(Type::Object).into();
            return Some(Return { name: RESULT.into(), description: None, schema, extra: Map::new() });
        }
        Returns::Matching(schema) => schema.value(),
    };
    let mut schema = Express::of(value).schema(value);
    let description = match &mut schema {
        FunctionSchema::Typed(typed) => typed.description.take(),
        FunctionSchema::Reference(_) => None,
    };
    Some(Return { name: RESULT.into(), description, schema, extra: Map::new() })
}

struct Express<'a> {
    root: &'a Value,
    /// The references we are inside of.
    open: Vec<&'a str>,
    depth: usize,
    left: usize,
}

impl<'a> Express<'a> {
    fn of(root: &'a Value) -> Self {
        Express { root, open: Vec::new(), depth: 0, left: MOST_SCHEMAS }
    }

    fn schema(&mut self, value: &'a Value) -> FunctionSchema {
        let spent = self.left == 0 || self.depth == MOST_DEPTH;
        self.left = self.left.saturating_sub(1);
        self.depth += 1;
        let schema = if spent { untold() } else { self.nearest(value) };
        self.depth -= 1;
        schema
    }

    fn nearest(&mut self, value: &'a Value) -> FunctionSchema {
        match value.as_object() {
            Some(members) => match members.get("$ref").and_then(Value::as_str) {
                Some(reference) => self.reference(members, reference),
                None => self.members(members).into(),
            },
            None => anything().into(),
        }
    }

    /// What a reference leads to, with the keywords next to it over that.
    fn reference(&mut self, members: &'a Map<String, Value>, reference: &'a str) -> FunctionSchema {
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let mut found = match target {
            Some(_) if self.open.contains(&reference) => {
                let note = format!("(of the same form as what it stands in: {reference})");
                Typed { description: Some(note), ..Typed::of(Type::Object) }.into()
            }
            Some(target) => {
                self.open.push(reference);
                let found = self.schema(target);
                self.open.pop();
                found
            }
            None => anything().into(),
        };
        let said = members.get("description").and_then(Value::as_str);
        if let (Some(said), FunctionSchema::Typed(typed)) = (said, &mut found) {
            typed.description = Some(said.to_owned());
        }
        found
    }

    fn members(&mut self, members: &'a Map<String, Value>) -> Typed {
        let mut notes = Notes::default();
        let mut typed = match self.alternatives(members, &mut notes) {
            Some(chosen) => chosen,
            None => Typed::of(nearest_type(members, &mut notes)),
        };
        self.object_members(members, &mut typed);
        if let Some(FunctionSchema::Typed(items)) = members.get("items").map(|items| self.schema(items)) {
            typed.items = (typed.kind == Type::Array).then_some(FunctionSchema::Typed(items));
        }
        for part in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            if let FunctionSchema::Typed(part) = self.schema(part) {
                merge(&mut typed, *part);
            }
        }
        let values = members.get("enum").and_then(Value::as_array).cloned();
        if let Some(values) = values.or_else(|| Some(vec![members.get("const")?.clone()])) {
            choose(&mut typed, values, &mut notes);
        }
        notes.keywords(members);
        if typed.kind == Type::Array && typed.items.is_none() {
            typed.items = Some(anything().into());
        }
        let said = members.get("description").and_then(Value::as_str).or(typed.description.as_deref());
        typed.description = notes.behind(said);
        typed
    }

    fn object_members(&mut self, members: &'a Map<String, Value>, typed: &mut Typed) {
        if typed.kind != Type::Object {
            return;
        }
        let properties = members.get("properties").and_then(Value::as_object);
        let told: Vec<(String, FunctionSchema)> = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.clone(), self.schema(schema)))
            .collect();
        let required = members.get("required").and_then(Value::as_array);
        let required: Vec<String> =
            required.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect();
        let part = Typed {
            properties: Some(Properties(told)),
            required: (!required.is_empty()).then_some(required),
            ..Typed::of(Type::Object)
        };
        merge(typed, part);
    }

    /// `oneOf` and `anyOf`: the only alternative besides null, choices put together, objects laid over each
    /// other, or else the first, with all of them in words.
    fn alternatives(&mut self, members: &'a Map<String, Value>, notes: &mut Notes) -> Option<Typed> {
        let listed = members.get("oneOf").or_else(|| members.get("anyOf"))?.as_array()?;
        let is_null = |schema: &&Value| schema.get("type").and_then(Value::as_str) == Some("null");
        if listed.iter().any(|schema| is_null(&schema)) {
            notes.say("may be null");
        }
        let real: Vec<&Value> = listed.iter().filter(|schema| !is_null(schema)).collect();
        let expressed: Vec<Typed> = real
            .iter()
            .filter_map(|schema| match self.schema(schema) {
                FunctionSchema::Typed(typed) => Some(*typed),
                FunctionSchema::Reference(_) => None,
            })
            .collect();
        let mut each = expressed.into_iter();
        let mut chosen = each.next()?;
        let others: Vec<Typed> = each.collect();
        if others.is_empty() {
            return Some(chosen);
        }
        let alike = others.iter().all(|other| other.kind == chosen.kind);
        if alike && chosen.choices.is_some() && others.iter().all(|other| other.choices.is_some()) {
            let all = chosen.choices.get_or_insert_default();
            all.extend(others.into_iter().flat_map(|other| other.choices.unwrap_or_default()));
            return Some(chosen);
        }
        notes.say(format!("one of: {}", told(&Value::Array(real.into_iter().cloned().collect()))));
        if alike && chosen.kind == Type::Object {
            chosen.required = None;
            for other in others {
                merge(&mut chosen, Typed { required: None, ..other });
            }
        }
        Some(chosen)
    }
}

/// Lays the members of an object over those of another.
fn merge(typed: &mut Typed, part: Typed) {
    if typed.kind != Type::Object || part.kind != Type::Object {
        return;
    }
    let known = &mut typed.properties.get_or_insert_default().0;
    for (name, schema) in part.properties.unwrap_or_default().0 {
        match known.iter_mut().find(|(known, _)| *known == name) {
            Some((_, place)) => *place = schema,
            None => known.push((name, schema)),
        }
    }
    if let Some(required) = part.required {
        let known = typed.required.get_or_insert_default();
        let news: Vec<String> = required.into_iter().filter(|name| !known.contains(name)).collect();
        known.extend(news);
    }
}

/// Choices of one type are an `enum`; others only words.
fn choose(typed: &mut Typed, values: Vec<Value>, notes: &mut Notes) {
    if values.iter().all(|value| value.is_null() || typed.kind.holds(value)) {
        typed.choices = Some(values);
    } else {
        notes.say(format!("one of: {}", told(&Value::Array(values))));
    }
}

fn nearest_type(members: &Map<String, Value>, notes: &mut Notes) -> Type {
    let words: Vec<&str> = match members.get("type") {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => return untyped(members, notes),
    };
    let kinds: Vec<Type> = words.iter().filter_map(|word| Type::named(word)).collect();
    let listed = members.get("enum").and_then(Value::as_array);
    if words.contains(&"null") && !listed.is_some_and(|values| values.contains(&Value::Null)) {
        notes.say("may be null");
    }
    match kinds[..] {
        [kind] => kind,
        [Type::Integer, Type::Number] | [Type::Number, Type::Integer] => Type::Number,
        [first, ..] => {
            notes.say(format!("type: {}", words.join(" or ")));
            first
        }
        [] => Type::String,
    }
}

/// The type that a schema without `type` implies.
fn untyped(members: &Map<String, Value>, notes: &mut Notes) -> Type {
    let values = members.get("enum").and_then(Value::as_array);
    let first = values.and_then(|values| values.iter().find(|value| !value.is_null()));
    if let Some(value) = first.or_else(|| members.get("const")) {
        let kinds = Type::WORDS.iter().map(|(_, kind)| *kind);
        return kinds.into_iter().find(|kind| kind.holds(value)).unwrap_or(Type::String);
    }
    if ["properties", "required", "additionalProperties", "allOf"]
        .iter()
        .any(|key| members.contains_key(*key))
    {
        return Type::Object;
    }
    if ["items", "prefixItems", "minItems", "maxItems"].iter().any(|key| members.contains_key(*key)) {
        return Type::Array;
    }
    if ["minimum", "maximum", "multipleOf"].iter().any(|key| members.contains_key(*key)) {
        return Type::Number;
    }
    if !["pattern", "format", "minLength", "maxLength"].iter().any(|key| members.contains_key(*key)) {
        notes.say("any JSON value");
    }
    Type::String
}
