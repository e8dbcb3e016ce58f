//! References to the document's `schemas`, in any order, through aliases, and around cycles: where a schema
//! would come to stand in itself, an object of no said members stands instead.

use super::objects::{Function, FunctionSchema, OpenTool, Parameter, Properties, Return, Type, Typed};

/// How many schemas one function may have when its references are resolved.
const MOST_SCHEMAS: usize = 10_000;
/// How deep they may stand in each other.
const MOST_DEPTH: usize = 64;

impl OpenTool {
    /// The document without references: every schema stands where it is used, and `schemas` is gone.
    pub fn resolved(&self) -> OpenTool {
        let functions = self.functions.iter().map(|function| self.resolve(function)).collect();
        OpenTool { functions, schemas: Vec::new(), ..self.clone() }
    }

    /// A function of this document without references.
    pub fn resolve(&self, function: &Function) -> Function {
        let mut resolver = Resolver { document: self, open: Vec::new(), depth: 0, left: MOST_SCHEMAS };
        let parameters = function.parameters.iter();
        Function {
            parameters: parameters
                .map(|parameter| Parameter {
                    schema: resolver.schema(&parameter.schema),
                    ..parameter.clone()
                })
                .collect(),
            returns: function.returns.as_ref().map(|returns| resolver.returns(returns)),
            stream: function
                .stream
                .iter()
                .map(|(event, returns)| (event.clone(), resolver.returns(returns)))
                .collect(),
            ..function.clone()
        }
    }
}

struct Resolver<'a> {
    document: &'a OpenTool,
    /// The references we are inside of.
    open: Vec<&'a str>,
    depth: usize,
    left: usize,
}

impl<'a> Resolver<'a> {
    fn returns(&mut self, returns: &'a Return) -> Return {
        Return { schema: self.schema(&returns.schema), ..returns.clone() }
    }

    fn schema(&mut self, schema: &'a FunctionSchema) -> FunctionSchema {
        if self.left == 0 || self.depth == MOST_DEPTH {
            return Typed::of(Type::Object).into();
        }
        self.left -= 1;
        self.depth += 1;
        let resolved = self.inner(schema);
        self.depth -= 1;
        resolved
    }

    fn inner(&mut self, schema: &'a FunctionSchema) -> FunctionSchema {
        match schema {
            FunctionSchema::Typed(typed) => Typed {
                properties: typed.properties.as_ref().map(|members| {
                    let members = members.0.iter();
                    Properties(members.map(|(name, schema)| (name.clone(), self.schema(schema))).collect())
                }),
                items: typed.items.as_ref().map(|items| self.schema(items)),
                ..(**typed).clone()
            }
            .into(),
            FunctionSchema::Reference(reference) => {
                let mut found = self.target(&reference.name);
                if let (Some(description), FunctionSchema::Typed(typed)) =
                    (&reference.description, &mut found)
                {
                    typed.description = Some(description.clone());
                }
                found
            }
        }
    }

    fn target(&mut self, name: &'a str) -> FunctionSchema {
        let document = self.document;
        let known = document.schemas.iter().find(|(known, _)| known == name);
        match known {
            Some((_, schema)) if !self.open.contains(&name) => {
                self.open.push(name);
                let found = self.schema(schema);
                self.open.pop();
                found
            }
            _ => Typed::of(Type::Object).into(),
        }
    }
}
