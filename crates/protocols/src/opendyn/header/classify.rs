//! What can be made of a declaration: a description that works, a question for a person, or nothing.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::c_type::CType;
use super::preprocess::{HeaderError, Preprocessed, preprocess};
use super::syntax::{Declaration, Declared, declarations};
use crate::opendyn::document::{C_TYPES, Kind};

/// Parts of names that mean the end of an object.
const ENDINGS: [&str; 7] = ["close", "free", "destroy", "delete", "finalize", "release", "cleanup"];
/// Names of parameters that hold a length.
const LENGTHS: [&str; 12] =
    ["len", "length", "size", "n", "count", "num", "bytes", "nbyte", "nbytes", "amt", "sz", "sourcelen"];
/// The longest description taken from a comment.
const MOST_COMMENT: usize = 400;

/// Which comment describes a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// The one in front of it.
    Before,
    /// The one behind it, as in zlib.
    After,
}

/// What came of a header.
#[derive(Debug)]
pub struct Described {
    /// Functions that can be called, as they stand in a document.
    pub ready: Vec<Value>,
    /// Functions for which a person must decide something, with the question.
    pub undecided: Vec<(String, String)>,
    /// Functions that cannot be called, with the reason.
    pub impossible: Vec<(String, String)>,
}

/// Why a declaration is no description.
enum Not {
    Decided(String),
    Possible(String),
}

/// Describes the functions of a header whose names `wanted` accepts. Dropping the future ends it.
pub async fn describe(
    header: &Path,
    comments: Comments,
    wanted: &(dyn Fn(&str) -> bool + Sync),
) -> Result<Described, HeaderError> {
    classified(&preprocess(header).await?, comments, wanted)
}

/// The same from what the preprocessor wrote.
pub(super) fn classified(
    preprocessed: &Preprocessed,
    comments: Comments,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Described, HeaderError> {
    let mut described = Described { ready: Vec::new(), undecided: Vec::new(), impossible: Vec::new() };
    let mut names = std::collections::HashSet::new();
    for declaration in declarations(preprocessed)? {
        if !wanted(&declaration.name) || !names.insert(declaration.name.clone()) {
            continue;
        }
        match function(&declaration, comments) {
            Ok(function) => described.ready.push(function),
            Err(Not::Decided(question)) => described.undecided.push((declaration.name, question)),
            Err(Not::Possible(reason)) => described.impossible.push((declaration.name, reason)),
        }
    }
    Ok(described)
}

fn function(declaration: &Declaration, comments: Comments) -> Result<Value, Not> {
    if declaration.variadic {
        return Err(Not::Possible("it takes any number of arguments".to_owned()));
    }
    let mut review = Vec::new();
    // What is impossible outweighs what is undecided.
    let mut all = declaration.parameters.iter().map(|parameter| &parameter.c).chain([&declaration.returns]);
    if let Some(reason) = all.find_map(never) {
        return Err(Not::Possible(reason));
    }
    let returns = returned(declaration, &mut review)?;
    let mut parameters = Vec::new();
    let mut index = 0;
    while let Some(declared) = declaration.parameters.get(index) {
        let length = declaration.parameters.get(index + 1).filter(|next| is_length(next));
        let name = name_of(declared, index);
        if let (Some(form), Some(length)) = (bytes(&declared.c), length) {
            let length_name = name_of(length, index + 1);
            review.push(format!("`{length_name}` is taken for the length of `{name}`"));
            parameters.push(json!({ "name": name, "schema": form, "isIn": true, "required": true }));
            let CType::Scalar(c) = length.c else { unreachable!("a length is an integer") };
            let c = json!({ "type": c, "isPointer": false, "lengthOf": name });
            let schema = json!({ "type": "integer", "cType": c });
            parameters.push(json!({ "name": length_name, "schema": schema, "isIn": true, "required": true }));
            index += 2;
            continue;
        }
        parameters.push(parameter(declaration, &name, &declared.c, &mut review)?);
        index += 1;
    }
    Ok(assemble(declaration, comments, parameters, returns, review))
}

fn assemble(
    declaration: &Declaration,
    comments: Comments,
    parameters: Vec<Value>,
    returns: Option<Value>,
    review: Vec<String>,
) -> Value {
    let comment = match comments {
        Comments::Before => &declaration.before,
        Comments::After => &declaration.after,
    };
    let text = comment.as_deref().unwrap_or(&declaration.name);
    let description: String = text.chars().take(MOST_COMMENT).collect();
    let mut members = Map::new();
    members.insert("name".into(), declaration.name.as_str().into());
    members.insert("description".into(), description.into());
    members.insert("parameters".into(), parameters.into());
    members.extend(returns.map(|returns| ("return".to_owned(), returns)));
    if !review.is_empty() {
        members.insert("review".into(), json!(review));
    }
    Value::Object(members)
}

fn name_of(declared: &Declared, index: usize) -> String {
    declared.name.clone().unwrap_or_else(|| format!("arg{index}"))
}

/// Types that no description helps with.
fn never(c: &CType) -> Option<String> {
    match c {
        CType::Opaque(name) => Some(format!("it passes the structure `{name}` by value")),
        CType::Function => Some("it takes or gives a function".to_owned()),
        CType::Other(what) => Some(format!("it uses {what}")),
        CType::Pointer { to, .. } => match &**to {
            CType::Function => Some("it takes or gives a function".to_owned()),
            CType::Other(what) => Some(format!("it uses {what}")),
            CType::Pointer { to, .. } if matches!(**to, CType::Function | CType::Other(_)) => {
                Some("it takes or gives a function".to_owned())
            }
            CType::Void | CType::Scalar(_) | CType::Pointer { .. } | CType::Opaque(_) | CType::Array(_) => {
                None
            }
        },
        CType::Void | CType::Scalar(_) | CType::Array(_) => None,
    }
}

fn kind_of(c: &str) -> &'static str {
    let kind = match C_TYPES.iter().find(|(word, _)| *word == c).and_then(|(_, scalar)| *scalar) {
        Some(scalar) => match scalar.class() {
            toolmux_dylib_host::scalar::Class::Bool => Kind::Boolean,
            toolmux_dylib_host::scalar::Class::Float => Kind::Number,
            toolmux_dylib_host::scalar::Class::Signed | toolmux_dylib_host::scalar::Class::Unsigned => {
                Kind::Integer
            }
        },
        None => Kind::String,
    };
    kind.word()
}

fn plain(c: &str, pointer: bool) -> Value {
    json!({ "type": kind_of(c), "cType": { "type": c, "isPointer": pointer } })
}

fn text() -> Value {
    json!({ "type": "string", "cType": { "type": "char", "isPointer": true } })
}

fn handle(tag: &str, ends: bool) -> Value {
    let mut c = json!({ "type": "void", "isPointer": true, "handle": tag });
    if ends {
        c["closes"] = true.into();
    }
    json!({ "type": "string", "cType": c })
}

fn is_length(declared: &Declared) -> bool {
    let integer = matches!(declared.c, CType::Scalar(c) if kind_of(c) == "integer");
    let name = declared.name.as_deref().unwrap_or_default().to_ascii_lowercase();
    integer && LENGTHS.iter().any(|known| name == *known || (known.len() > 2 && name.ends_with(known)))
}

/// Input that needs a length beside it.
fn bytes(c: &CType) -> Option<Value> {
    match c {
        CType::Pointer { to, constant: true } => match &**to {
            CType::Void => Some(json!({ "type": "string", "cType": { "type": "void", "isPointer": true } })),
            CType::Scalar("unsigned char") => {
                Some(json!({ "type": "string", "cType": { "type": "unsigned char", "isPointer": true } }))
            }
            CType::Scalar(c) if *c != "char" => {
                Some(json!({ "type": "array", "cType": { "type": c, "isPointer": true } }))
            }
            CType::Scalar(_)
            | CType::Pointer { .. }
            | CType::Opaque(_)
            | CType::Function
            | CType::Array(_)
            | CType::Other(_) => None,
        },
        CType::Pointer { constant: false, .. }
        | CType::Void
        | CType::Scalar(_)
        | CType::Opaque(_)
        | CType::Function
        | CType::Array(_)
        | CType::Other(_) => None,
    }
}

fn parameter(
    declaration: &Declaration,
    name: &str,
    c: &CType,
    review: &mut Vec<String>,
) -> Result<Value, Not> {
    let given = |schema: Value, taken: bool| json!({ "name": name, "schema": schema, "isIn": taken, "required": true });
    let ask = |what: &str| Err(Not::Decided(format!("`{name}` {what}")));
    let (to, constant) = match c {
        CType::Scalar(c) => return Ok(given(plain(c, false), true)),
        CType::Pointer { to, constant } => (&**to, *constant),
        CType::Void | CType::Opaque(_) | CType::Function | CType::Array(_) | CType::Other(_) => {
            return ask("has a type that cannot be read");
        }
    };
    match to {
        CType::Scalar("char") if constant => Ok(given(text(), true)),
        CType::Scalar("char") => ask("may be an output: how large, or is it changed?"),
        CType::Scalar("unsigned char") => ask("points to bytes: how many, and which way?"),
        CType::Scalar(_) if constant => ask("points to elements: how many?"),
        CType::Scalar(c) => {
            review.push(format!("`{name}` is taken for an output of one `{c}`"));
            Ok(given(plain(c, true), false))
        }
        CType::Opaque(tag) => {
            let lower = declaration.name.to_ascii_lowercase();
            let ends = ENDINGS.iter().any(|ending| lower.contains(ending));
            if ends {
                review.push(format!("`{}` is taken to end the `{tag}`", declaration.name));
            }
            Ok(given(handle(tag, ends), true))
        }
        CType::Pointer { to, .. } => match &**to {
            CType::Opaque(tag) => {
                review.push(format!("`{name}` is taken for an output of a new `{tag}`"));
                Ok(given(handle(tag, false), false))
            }
            CType::Scalar("char") => ask("may be a text that the library makes: who frees it?"),
            CType::Void
            | CType::Scalar(_)
            | CType::Pointer { .. }
            | CType::Function
            | CType::Array(_)
            | CType::Other(_) => ask("is a pointer to a pointer: what does it lead to?"),
        },
        CType::Void => ask("points to anything: bytes, or an object?"),
        CType::Array(_) => ask("is an array: how many elements, and which way?"),
        CType::Function | CType::Other(_) => ask("has a type that cannot be read"),
    }
}

fn returned(declaration: &Declaration, review: &mut Vec<String>) -> Result<Option<Value>, Not> {
    let schema = match &declaration.returns {
        CType::Void => return Ok(None),
        CType::Scalar(c) => plain(c, false),
        CType::Pointer { to, constant } => match &**to {
            CType::Scalar("char") if *constant => text(),
            CType::Scalar("char") => return Err(Not::Decided("it returns a text: who frees it?".to_owned())),
            CType::Opaque(tag) => {
                review.push(format!("what it returns is taken for a `{tag}` that stays open"));
                handle(tag, false)
            }
            CType::Void
            | CType::Scalar(_)
            | CType::Pointer { .. }
            | CType::Function
            | CType::Array(_)
            | CType::Other(_) => {
                return Err(Not::Decided(
                    "it returns a pointer: to what, how many, who frees it?".to_owned(),
                ));
            }
        },
        CType::Opaque(_) | CType::Function | CType::Array(_) | CType::Other(_) => {
            return Err(Not::Possible("what it returns cannot be passed".to_owned()));
        }
    };
    Ok(Some(json!({ "name": "result", "schema": schema })))
}
