//! A document of the functions that headers declare and a library really has.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolmux_core::plural::counted;
use toolmux_dylib_host::error_chain;

use super::answers::apply;
use super::document::MOST_FUNCTIONS;
use super::header::{Described, HeaderRequest, describe};
use super::source::missing;
use crate::registry::OpenError;

/// How many functions a worker looks for at once.
const LOOKED_FOR: usize = 1_000;

/// A document, and what became of the functions that are not in it.
#[derive(Debug)]
pub struct LibraryDocument {
    /// An OpenDyn document of the functions that can be called; those with open questions are in its `undecided`.
    pub document: Value,
    /// What came of the declarations of the headers.
    pub functions: Described,
    /// Functions that the headers declare and the library does not have, with the reason.
    pub missing: Vec<(String, String)>,
    /// Answers that belong to no function, by their names.
    pub unused_answers: Vec<String>,
}

/// Describes headers; a worker loads the library to see which of the functions it really has. The worker is this
/// program: its `main` must begin with [`become_worker_if_asked`](super::become_worker_if_asked). `answers` are those
/// of a person to earlier questions, `null` if there are none.
pub async fn describe_library(
    request: &HeaderRequest,
    library: &Path,
    answers: &Value,
) -> Result<LibraryDocument, OpenError> {
    let mut functions = describe(request).await.map_err(|error| {
        OpenError::new(format!("cannot describe `{}`: {}", shown(&request.headers), error_chain(&error)))
    })?;
    let declared = functions.ready.len() + functions.undecided.len() + functions.impossible.len();
    if declared == 0 {
        return Err(nothing_declared(request));
    }
    let unused_answers = apply(&mut functions, answers);
    let missing = retain_present(&mut functions, request, library).await?;
    check_count(&functions, &missing, library)?;
    Ok(LibraryDocument { document: document(request, &functions), functions, missing, unused_answers })
}

fn shown(headers: &[PathBuf]) -> String {
    headers.iter().map(|header| header.display().to_string()).collect::<Vec<_>>().join("`, `")
}

fn nothing_declared(request: &HeaderRequest) -> OpenError {
    let headers = shown(&request.headers);
    let selection = &request.selection;
    if selection.only.is_empty() && selection.except.is_empty() {
        return OpenError::new(format!("`{headers}` declares no function"))
            .hint("name the headers that declare them; macros that must be set first are given with -D");
    }
    OpenError::new(format!("no function of `{headers}` matches --only and --except"))
        .hint("`*` matches any text: --only 'sqlite3_*'")
}

/// Leaves out what the library does not have.
async fn retain_present(
    functions: &mut Described,
    request: &HeaderRequest,
    library: &Path,
) -> Result<Vec<(String, String)>, OpenError> {
    let worker = std::env::current_exe()
        .map_err(|error| OpenError::new(format!("this program cannot find its own file: {error}")))?;
    // Whether a function is there can be seen without knowing what it takes.
    let bare = functions.undecided.iter().map(|function| {
        let symbol = function.get("symbol").unwrap_or(&function["name"]);
        json!({ "name": function["name"], "symbol": symbol, "description": "", "parameters": [] })
    });
    let all: Vec<Value> = functions.ready.iter().cloned().chain(bare).collect();
    let mut missed = Vec::new();
    for some in all.chunks(LOOKED_FOR) {
        let mut whole = document_of(request, some);
        whole["structures"] = json!(functions.structures);
        let whole = whole.to_string();
        missed.extend(missing(&whole, library, worker.clone()).await.map_err(|error| {
            OpenError::new(error.message().public)
                .hint("name the file that the loader finds, such as `libz.so.1`, not `libz.so`")
        })?);
    }
    let names: HashSet<&str> = missed.iter().map(|(name, _)| name.as_str()).collect();
    let is_there = |function: &Value| !function["name"].as_str().is_some_and(|name| names.contains(name));
    functions.ready.retain(is_there);
    functions.undecided.retain(is_there);
    retain_used_allocations(&mut functions.ready);
    Ok(missed)
}

/// Structures are allocated only for functions that are there.
fn retain_used_allocations(ready: &mut Vec<Value>) {
    let is_allocation = |function: &Value| {
        matches!(function["symbol"].as_str(), Some("calloc" | "free" | "memcpy" | "store" | "collected"))
    };
    let kind_of = |part: &Value| part["schema"]["cType"]["handle"].as_str().map(str::to_owned);
    let parameters = |function: &Value| function["parameters"].as_array().cloned().unwrap_or_default();
    let taken: HashSet<String> = ready
        .iter()
        .filter(|function| !is_allocation(function))
        .flat_map(|function| parameters(function).iter().filter_map(kind_of).collect::<Vec<_>>())
        .collect();
    ready.retain(|function| {
        let kind = parameters(function).iter().find_map(kind_of).or_else(|| kind_of(&function["return"]));
        !is_allocation(function) || kind.is_some_and(|kind| taken.contains(&kind))
    });
}

fn check_count(functions: &Described, missing: &[(String, String)], library: &Path) -> Result<(), OpenError> {
    let ready = functions.ready.len();
    if ready > MOST_FUNCTIONS {
        let what = format!("{ready} functions can be called, and a document has at most {MOST_FUNCTIONS}");
        return Err(OpenError::new(what).hint("choose some with --only and --except"));
    }
    if ready > 0 || !functions.undecided.is_empty() {
        return Ok(());
    }
    let library = library.display();
    let reason = |list: &[(String, String)]| {
        list.first().map(|(name, why)| format!("`{name}`: {why}")).unwrap_or_default()
    };
    Err(if missing.len() >= functions.impossible.len() {
        let count = counted(missing.len(), "declared function");
        OpenError::new(format!("`{library}` has none of the {count} ({})", reason(missing)))
            .hint("name the library that belongs to the header with --library")
    } else {
        OpenError::new(format!("no function can be called ({})", reason(&functions.impossible)))
            .hint("write small C functions around them that take numbers, texts and pointers")
    })
}

fn document(request: &HeaderRequest, functions: &Described) -> Value {
    let mut document = document_of(request, &functions.ready);
    if !functions.structures.is_empty() {
        document["structures"] = json!(functions.structures);
    }
    if !functions.undecided.is_empty() {
        document["undecided"] = json!(functions.undecided);
    }
    document
}

fn document_of(request: &HeaderRequest, functions: &[Value]) -> Value {
    let stem = request.headers.first().and_then(|header| header.file_stem());
    let title = stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let info = json!({ "title": title, "version": "1.0.0", "callingConvention": "cdecl" });
    json!({ "opendyn": "1.0.0", "info": info, "functions": functions })
}
