//! What all declarations of a library together say: who makes and ends objects, and who frees memory.

use std::collections::{HashMap, HashSet};

use super::c_type::{CType, Declared};
use super::explain::{Explainer, explainers};
use super::structures::values;
use super::syntax::{Declaration, Header};
use super::words::{End, ending, words};

/// Facts about a library that one declaration alone does not have.
pub(super) struct Facts<'a> {
    pub(super) header: &'a Header,
    /// Kinds of objects that a function gives.
    made: HashSet<&'a str>,
    /// Functions that end an object: the index of the parameter that it is.
    closers: HashMap<&'a str, usize>,
    /// The function that frees memory of the library.
    free: Option<&'a str>,
    /// Functions that say why another one failed.
    pub(super) explainers: Vec<Explainer<'a>>,
    /// Structures that callers see as objects with members, not as handles.
    values: HashSet<String>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(header: &'a Header) -> Self {
        let made = header.declarations.iter().flat_map(made_by).collect();
        let values = values(header);
        Facts {
            header,
            made,
            closers: closers(header),
            free: free_function(header),
            explainers: explainers(header),
            values,
        }
    }

    pub(super) fn is_value(&self, kind: &str) -> bool {
        self.values.contains(kind)
    }

    pub(super) fn is_made(&self, kind: &str) -> bool {
        self.made.contains(kind)
    }

    /// Whether a function ends the object of one of its parameters.
    pub(super) fn closes(&self, function: &str, parameter: usize) -> bool {
        self.closers.get(function) == Some(&parameter)
    }

    /// The function that frees a text or bytes, as far as a comment or the names of functions say.
    pub(super) fn free_for(&self, comment: &str) -> Option<&'a str> {
        let named = self.header.declarations.iter().map(|declaration| declaration.name.as_str());
        let mut named =
            named.filter(|name| words(name).iter().any(|word| word == "free" || word.ends_with("free")));
        let mentions =
            |name: &str| comment.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
        if let Some(mentioned) = named.find(|name| mentions(name)) {
            return Some(mentioned);
        }
        let lower = comment.to_lowercase();
        let by_libc = ["free()", "free ()", "with free", "using free", "by free", "to free"];
        if by_libc.iter().any(|text| lower.contains(text)) || lower.contains("malloc") {
            return Some(self.free.unwrap_or("free"));
        }
        self.free
    }
}

/// The kind of object that a type leads to.
pub(super) fn object_of(c: &CType) -> Option<&str> {
    match c {
        CType::Pointer { to, .. } => match &**to {
            CType::Opaque(kind) => Some(kind),
            CType::Array(element, _) => match &**element {
                CType::Opaque(kind) => Some(kind),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn made_by(declaration: &Declaration) -> Vec<&str> {
    // What is returned to be read only is not one's own.
    let is_own = matches!(declaration.returns, CType::Pointer { constant: false, .. });
    // Who takes one and gives one makes no first one.
    let takes = |kind: &str| declaration.parameters.iter().any(|one| object_of(&one.c) == Some(kind));
    let returned = object_of(&declaration.returns).filter(|kind| is_own && !takes(kind));
    let given = declaration.parameters.iter().filter_map(|parameter| match &parameter.c {
        CType::Pointer { to, .. } => object_of(to),
        _ => None,
    });
    returned.into_iter().chain(given).collect()
}

/// Of functions with several objects, the last one is meant: the first is what it belongs to.
fn closers(header: &Header) -> HashMap<&str, usize> {
    let mut found: Vec<(&str, usize, &str, End)> = Vec::new();
    for declaration in &header.declarations {
        let objects = declaration.parameters.iter().enumerate();
        let Some((index, kind)) = objects.rev().find_map(|(at, one)| Some((at, object_of(&one.c)?))) else {
            continue;
        };
        let gives_object = object_of(&declaration.returns).is_some();
        let takes_much = declaration.parameters.len() > 3 || declaration.parameters.iter().any(is_memory);
        if let Some(end) = ending(&declaration.name, kind).filter(|_| !gives_object && !takes_much) {
            found.push((&declaration.name, index, kind, end));
        }
    }
    let ended_wholly: HashSet<&str> =
        found.iter().filter(|(.., end)| *end == End::Whole).map(|(_, _, kind, _)| *kind).collect();
    // Where `free` ends an object, `close` leaves it to be freed.
    let ends = |kind: &str, end: End| end == End::Whole || !ended_wholly.contains(kind);
    found
        .iter()
        .filter(|(_, _, kind, end)| ends(kind, *end))
        .map(|(name, index, ..)| (*name, *index))
        .collect()
}

/// `GEOSFree_r(handle, void *)` ends the memory, not the object.
fn is_memory(one: &Declared) -> bool {
    matches!(&one.c, CType::Pointer { to, constant: false } if matches!(**to, CType::Void | CType::Scalar("char")))
}

/// `sqlite3_free(void *)`, the shortest name of its kind.
fn free_function(header: &Header) -> Option<&str> {
    let frees = |declaration: &&Declaration| {
        let [only] = &declaration.parameters[..] else { return false };
        let takes_memory = matches!(&only.c, CType::Pointer { to, .. }
            if matches!(**to, CType::Void | CType::Scalar("char")));
        // `xmlMemFree` is that of another allocator than the library's own.
        let words = words(&declaration.name);
        takes_memory && words.len() <= 2 && words.last().is_some_and(|last| last == "free")
    };
    let names = header.declarations.iter().filter(frees).map(|declaration| declaration.name.as_str());
    names.min_by_key(|name| name.len())
}
