//! The variables of a GraphQL operation, read from its text: each is a parameter with the schema of its type.

use serde_json::{Map, Value, json};

/// What a GraphQL document asks for.
#[derive(Debug)]
pub(super) struct GraphQlOperation {
    /// A query changes nothing.
    pub(super) is_query: bool,
    pub(super) variables: Vec<Variable>,
}

#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) schema: Value,
    pub(super) is_required: bool,
}

/// Reads the one operation of a document. Says what is wrong with the document, without quoting values of it.
pub(super) fn read(document: &str) -> Result<GraphQlOperation, String> {
    let tokens = tokens(document);
    let mut depth = 0_usize;
    let mut found = None;
    let mut is_fragment = false;
    for (index, token) in tokens.iter().enumerate() {
        let begins = match (*token, depth) {
            ("fragment", 0) => {
                is_fragment = true;
                false
            }
            ("query" | "mutation" | "subscription", 0) => !is_fragment,
            // A document that begins with a selection is a query without variables.
            ("{", 0) => found.is_none() && !is_fragment,
            _ => false,
        };
        match (begins, found) {
            (true, None) => found = Some(index),
            (true, Some(_)) => return Err("must have one operation, not several".into()),
            (false, _) => {}
        }
        match *token {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth = depth.checked_sub(1).ok_or("has a closing bracket without an opening one")?;
                is_fragment &= depth > 0;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err("has an opening bracket without a closing one".into());
    }
    let at = found.ok_or("must have an operation: `query { … }` or `mutation { … }`")?;
    let is_query = match tokens[at] {
        "subscription" => return Err("must be a query or a mutation: a subscription does not end".into()),
        word => word != "mutation",
    };
    let variables = Reader { tokens: &tokens, at: at + usize::from(tokens[at] != "{") }.variables()?;
    Ok(GraphQlOperation { is_query, variables })
}

struct Reader<'a> {
    tokens: &'a [&'a str],
    at: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<&'a str, String> {
        let token = self.tokens.get(self.at).ok_or("ends in the middle of its variables")?;
        self.at += 1;
        Ok(token)
    }

    fn peek(&self) -> &'a str {
        self.tokens.get(self.at).copied().unwrap_or_default()
    }

    fn take(&mut self, token: &str) -> bool {
        let is_next = self.peek() == token;
        self.at += usize::from(is_next);
        is_next
    }

    /// What stands between the name of the operation and its selection.
    fn variables(&mut self) -> Result<Vec<Variable>, String> {
        if self.peek().starts_with(|character: char| character.is_alphabetic() || character == '_') {
            self.at += 1;
        }
        let mut variables = Vec::new();
        if !self.take("(") {
            return Ok(variables);
        }
        while !self.take(")") {
            variables.push(self.variable()?);
        }
        Ok(variables)
    }

    fn variable(&mut self) -> Result<Variable, String> {
        let name = self.next()?.strip_prefix('$').ok_or("has a variable without `$`")?.to_owned();
        if !self.take(":") {
            return Err(format!("has a variable `${name}` without a type"));
        }
        let (mut schema, nullable) = self.kind()?;
        let mut is_required = !nullable;
        if self.take("=") {
            is_required = false;
            let default = self.value()?;
            if let (Some(default), Some(schema)) = (default, schema.as_object_mut()) {
                schema.insert("default".to_owned(), default);
            }
        }
        while self.take("@") {
            self.directive()?;
        }
        Ok(Variable { name, schema, is_required })
    }

    /// A type as a schema, and whether it may be null.
    fn kind(&mut self) -> Result<(Value, bool), String> {
        let schema = if self.take("[") {
            let (items, _) = self.kind()?;
            if !self.take("]") {
                return Err("has a list type without `]`".into());
            }
            json!({ "type": "array", "items": items })
        } else {
            named(self.next()?)
        };
        let nullable = !self.take("!");
        Ok((if nullable { or_null(schema) } else { schema }, nullable))
    }

    /// A constant; none for one that JSON has no form for, such as a name of an enumeration.
    fn value(&mut self) -> Result<Option<Value>, String> {
        let token = self.next()?;
        if token == "[" || token == "{" {
            let mut depth = 1_usize;
            while depth > 0 {
                match self.next()? {
                    "[" | "{" => depth += 1,
                    "]" | "}" => depth -= 1,
                    _ => {}
                }
            }
            return Ok(None);
        }
        // Names of enumerations are texts among the variables.
        Ok(serde_json::from_str(token).ok().or_else(|| Some(Value::from(token))))
    }

    fn directive(&mut self) -> Result<(), String> {
        self.next()?;
        if self.take("(") {
            while !self.take(")") {
                self.next()?;
            }
        }
        Ok(())
    }
}

/// The built-in scalars; anything else is the server's to know.
fn named(name: &str) -> Value {
    match name {
        "Int" => json!({ "type": "integer" }),
        "Float" => json!({ "type": "number" }),
        "String" => json!({ "type": "string" }),
        "Boolean" => json!({ "type": "boolean" }),
        "ID" => json!({ "type": ["string", "integer"] }),
        other => json!({ "description": format!("GraphQL type {other}") }),
    }
}

fn or_null(mut schema: Value) -> Value {
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => json!([kind, "null"]),
        Some(Value::Array(kinds)) => kinds.iter().cloned().chain([json!("null")]).collect(),
        _ => return schema,
    };
    if let Some(members) = schema.as_object_mut() {
        members.insert("type".to_owned(), kind);
    }
    schema
}

/// The words of a document, without comments, commas and white space. Texts are one word.
fn tokens(document: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = document;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' => text_length(rest),
            '$' | '_' | '-' => 1 + word_length(&rest[1..]),
            character if character.is_alphanumeric() => word_length(rest),
            character => character.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        if !(first == '#' || first == ',' || first == '\u{feff}' || first.is_whitespace()) {
            tokens.push(token);
        }
        rest = after;
    }
    tokens
}

fn word_length(text: &str) -> usize {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '.' | '+' | '-');
    text.find(|character| !is_part(character)).unwrap_or(text.len())
}

fn text_length(text: &str) -> usize {
    if let Some(block) = text.strip_prefix("\"\"\"") {
        return block.find("\"\"\"").map_or(text.len(), |end| end + 6);
    }
    let mut escaped = false;
    let end = text[1..].find(|character| {
        let ends = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

/// The properties of variables and which of them are required.
pub(super) fn properties(variables: Vec<Variable>) -> (Map<String, Value>, Vec<String>) {
    let required = variables.iter().filter(|variable| variable.is_required);
    let required = required.map(|variable| variable.name.clone()).collect();
    let properties = variables.into_iter().map(|variable| (variable.name, variable.schema)).collect();
    (properties, required)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(document: &str, expect: Result<(bool, Value), &str>) {
        let read = read(document).map(|operation| {
            let (properties, required) = properties(operation.variables);
            (operation.is_query, json!([properties, required]))
        });
        match (&read, expect) {
            (Ok(read), Ok(expect)) => assert_eq!(*read, expect, "{document}"),
            (Err(what), Err(expect)) => assert!(what.contains(expect), "{what}"),
            _ => panic!("{document}: {read:?}"),
        }
    }

    #[test]
    fn variables_are_parameters_of_their_types() {
        check("{ viewer { login } }", Ok((true, json!([{}, []]))));
        check(
            "# comment ($no: Int!)\nquery Find($id: ID!, $first: Int = 10 @deprecated(reason: \")\") $tags: [String!]) { a(id: $id) }",
            Ok((
                true,
                json!([{
                    "id": { "type": ["string", "integer"] },
                    "first": { "type": ["integer", "null"], "default": 10 },
                    "tags": { "type": ["array", "null"], "items": { "type": "string" } },
                }, ["id"]]),
            )),
        );
        check(
            "fragment F on T { query } mutation($input: NewItem!) { add(input: $input) { ...F } }",
            Ok((false, json!([{ "input": { "description": "GraphQL type NewItem" } }, ["input"]]))),
        );
    }

    #[test]
    fn documents_that_are_no_operation_say_why() {
        check("query A { a } query B { b }", Err("not several"));
        check("subscription { a }", Err("does not end"));
        check("fragment F on T { a }", Err("must have an operation"));
        check("query ($a Int) { a }", Err("`$a` without a type"));
        check("query ($a: Int", Err("opening bracket"));
        check("query { a }}", Err("closing bracket"));
    }
}
