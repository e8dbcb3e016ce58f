//! What can be made of the declarations of a header: descriptions that work, questions for a person, or nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::allocate::allocations;
use super::buffers::Paired;
use super::c_type::CType;
use super::callbacks::collectors;
use super::explain::error_message;
use super::facts::{Facts, object_of};
use super::guess::review;
use super::pairing::{LengthBy, Pair, pairs};
use super::preprocess::{HeaderError, Preprocessed, preprocess};
use super::request::{HeaderRequest, Selection};
use super::size_check::retain_confirmed;
use super::structures::used_structures;
use super::syntax::{Declaration, read_header};
use super::variables::variables;
use super::variadic::variants;
use super::words::ending;

/// The longest name of a function in a document.
const MOST_NAME: usize = 64;

/// What came of a header.
#[derive(Debug, Default)]
pub struct Described {
    /// Functions that can be called, as they stand in a document.
    pub ready: Vec<Value>,
    /// Functions for which a person must decide something: descriptions with `question` where it is open.
    pub undecided: Vec<Value>,
    /// Functions that cannot be called, with the reason.
    pub impossible: Vec<(String, String)>,
    /// Structures that the functions name, as they stand in a document.
    pub structures: BTreeMap<String, Value>,
}

/// Describes the functions of headers. Dropping the future ends it.
pub async fn describe(request: &HeaderRequest) -> Result<Described, HeaderError> {
    let mut described = classified(&preprocess(request).await?, request)?;
    retain_confirmed(&mut described, request).await?;
    Ok(described)
}

/// The same from what the preprocessor wrote.
pub(super) fn classified(
    preprocessed: &Preprocessed,
    request: &HeaderRequest,
) -> Result<Described, HeaderError> {
    let header = read_header(preprocessed, request.comments)?;
    let facts = Facts::new(&header);
    let mut described = Described::default();
    let mut names = HashSet::new();
    for declaration in &header.declarations {
        let name = declaration.name.as_str();
        if !request.selection.wants(name) || !names.insert(name) {
            continue;
        }
        match described_functions(&facts, declaration, &request.selection) {
            Ok(functions) => {
                let (undecided, ready): (Vec<_>, Vec<_>) = functions.into_iter().partition(has_question);
                described.undecided.extend(undecided);
                described.ready.extend(ready);
            }
            Err(reason) => described.impossible.push((name.to_owned(), reason)),
        }
    }
    described.ready.extend(variables(&facts, &request.selection));
    let collectors = collectors(&described.ready);
    described.ready.extend(collectors);
    let allocations = allocations(&facts, &described.ready);
    described.ready.extend(allocations);
    described.structures = used_structures(&facts, described.ready.iter().chain(&described.undecided));
    Ok(described)
}

/// Whether something in a description is open.
pub(in crate::opendyn) fn has_question(function: &Value) -> bool {
    let mut parameters = function["parameters"].as_array().into_iter().flatten();
    parameters.any(|parameter| parameter.get("question").is_some())
        || function["return"].get("question").is_some()
}

/// One declaration; several descriptions where further arguments have several types.
fn described_functions(
    facts: &Facts<'_>,
    declaration: &Declaration,
    selection: &Selection,
) -> Result<Vec<Value>, String> {
    if let Some(why) = selection.danger(&declaration.name) {
        return Err(format!("{why}; `--only {}` takes it in", declaration.name));
    }
    let function = described_function(facts, declaration, selection)?;
    if declaration.variadic { variants(facts, declaration, function) } else { Ok(vec![function]) }
}

fn described_function(
    facts: &Facts<'_>,
    declaration: &Declaration,
    selection: &Selection,
) -> Result<Value, String> {
    let function = Function::new(facts, declaration);
    let returns = function.returned()?;
    let parameters: Vec<Value> =
        (0..declaration.parameters.len()).map(|index| function.parameter(index)).collect::<Result<_, _>>()?;
    let can_fail = returns.as_ref().is_some_and(|returns| returns.get("success").is_some());
    let message = can_fail.then(|| error_message(&facts.explainers, declaration, &parameters)).flatten();
    let mut assembled = assemble(declaration, selection, parameters, returns);
    if let Some(message) = message {
        assembled["errorMessage"] = message;
    }
    Ok(assembled)
}

fn assemble(
    declaration: &Declaration,
    selection: &Selection,
    parameters: Vec<Value>,
    returns: Option<Value>,
) -> Value {
    let shown = short(selection.shown(&declaration.name));
    let text = declaration.documentation.text.as_str();
    let parts: Vec<&Value> = parameters.iter().chain(&returns).collect();
    let review = review(&parts);
    let mut members = Map::new();
    if shown != declaration.name {
        members.insert("symbol".into(), declaration.name.as_str().into());
    }
    members.insert("name".into(), shown.into());
    let declared = declaration.text.trim_start_matches("extern ").trim_end_matches(';').trim_end();
    let description = if text.is_empty() { declared } else { text };
    members.insert("description".into(), description.into());
    let asks = parts.iter().any(|part| part.get("question").is_some());
    if asks {
        members.insert("declaration".into(), declaration.text.as_str().into());
    }
    members.insert("parameters".into(), parameters.into());
    members.extend(returns.map(|returns| ("return".to_owned(), returns)));
    if !review.is_empty() {
        members.insert("review".into(), json!(review));
    }
    Value::Object(members)
}

/// A name that a document may have: one that is too long is cut, with some letters that make it its own.
fn short(name: &str) -> String {
    if name.len() <= MOST_NAME {
        return name.to_owned();
    }
    let digest = Sha256::digest(name.as_bytes());
    let mark = format!("{:08x}", u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]));
    let front: String = name.chars().take(MOST_NAME - mark.len() - 1).collect();
    format!("{front}_{mark}")
}

/// One declaration with what is known around it.
pub(super) struct Function<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) declaration: &'a Declaration,
    /// What callers call each parameter.
    pub(super) names: Vec<String>,
    pub(super) pairs: Vec<Option<Pair>>,
}

impl<'a> Function<'a> {
    fn new(facts: &'a Facts<'a>, declaration: &'a Declaration) -> Self {
        let pairs = pairs(&declaration.parameters, &facts.header.types, &|kind| facts.is_value(kind));
        Function { facts, declaration, names: names(declaration), pairs }
    }

    /// What the comment says about the direction of a parameter.
    pub(super) fn direction(&self, name: &str) -> Option<&str> {
        let direction = self.declaration.documentation.parameter(name)?.direction.as_deref()?;
        Some(match direction.replace(' ', "").as_str() {
            "in" => "in",
            "out" => "out",
            _ => "in,out",
        })
    }

    /// The buffer whose length a parameter holds.
    pub(super) fn measured_by(&self, length: usize) -> Option<(usize, &Pair)> {
        self.pairs.iter().enumerate().find_map(|(buffer, pair)| {
            pair.as_ref().filter(|pair| pair.length == length).map(|pair| (buffer, pair))
        })
    }

    /// A buffer of numbers or bytes with its length; nothing for pointers to pointers.
    pub(super) fn paired<'p>(&'p self, index: usize, pair: &'p Pair) -> Option<Paired<'p>> {
        let CType::Pointer { to, constant } = &self.declaration.parameters[index].c else { return None };
        let element = match &**to {
            CType::Array(element, None) => element,
            CType::Pointer { to, .. } if **to == CType::Scalar("char") && self.names_texts(index) => to,
            CType::Pointer { .. } => return None,
            other => other,
        };
        Some(Paired { index, pair, element, constant: *constant })
    }

    /// The number that a parameter is or leads to.
    pub(super) fn pointed_number(&self, index: usize) -> Option<&'static str> {
        let types = &self.facts.header.types;
        match &self.declaration.parameters[index].c {
            CType::Pointer { to, .. } => types.number(to),
            other => types.number(other),
        }
    }

    /// Another array that is read, whose count goes for this one too.
    pub(super) fn counted_like(&self, index: usize) -> Option<&str> {
        let own = self.pointed_element(index)?;
        let same = |other: usize| {
            let is_counted = self.pairs[other].as_ref().is_some_and(|pair| pair.by == LengthBy::Value);
            let is_read =
                matches!(self.declaration.parameters[other].c, CType::Pointer { constant: true, .. });
            other != index && is_counted && is_read && self.pointed_element(other) == Some(own)
        };
        (0..self.names.len()).find(|other| same(*other)).map(|other| self.names[other].as_str())
    }

    fn pointed_element(&self, index: usize) -> Option<&CType> {
        let CType::Pointer { to, .. } = &self.declaration.parameters[index].c else { return None };
        match &**to {
            CType::Array(element, None) => Some(element),
            CType::Scalar("char" | "unsigned char") | CType::Void => None,
            scalar @ CType::Scalar(_) => Some(scalar),
            _ => None,
        }
    }

    /// Whether the function ends some object.
    pub(super) fn is_ending(&self) -> bool {
        let parameters = self.declaration.parameters.iter();
        let kinds = parameters.filter_map(|one| match &one.c {
            CType::Pointer { to, .. } => object_of(to).or_else(|| object_of(&one.c)),
            _ => None,
        });
        kinds.into_iter().chain([""]).any(|kind| ending(&self.declaration.name, kind).is_some())
    }
}

/// A name for every parameter: its own, or one after its type.
fn names(declaration: &Declaration) -> Vec<String> {
    let mut taken: HashMap<String, usize> = HashMap::new();
    let own: HashSet<&str> = declaration.parameters.iter().filter_map(|one| one.name.as_deref()).collect();
    let mut names = Vec::new();
    for (index, declared) in declaration.parameters.iter().enumerate() {
        let base = declared.name.clone().unwrap_or_else(|| match object_of(&declared.c) {
            Some(kind) if !own.contains(kind) => kind.to_owned(),
            _ => format!("arg{index}"),
        });
        let times = taken.entry(base.clone()).or_default();
        *times += 1;
        names.push(if *times == 1 { base } else { format!("{base}{times}") });
    }
    names
}
