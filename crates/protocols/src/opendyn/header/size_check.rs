//! Layouts of structures as the compiler sees them: ours do not know of packed structures or other alignments.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::classify::Described;
use super::preprocess::{HeaderError, compiler_words, include_lines, run};
use super::request::HeaderRequest;
use super::structures::named_in;

/// What the message of a failed check begins with; the name of the structure follows.
const MARK: &str = "toolmux-layout:";

/// Leaves out functions that use structures whose size or members the compiler does not confirm.
pub(super) async fn retain_confirmed(
    described: &mut Described,
    request: &HeaderRequest,
) -> Result<(), HeaderError> {
    let mut source = String::from("#include <stddef.h>\n");
    source.push_str(&include_lines(request).await?);
    let assertions = assertions(described);
    if !assertions.is_empty() {
        source.push_str(&assertions);
        let argv = compiler_words(request, &["-fsyntax-only", "-w"]).await?;
        let (text, error) = run("cc", &argv, source.as_bytes()).await?;
        let refuted: BTreeSet<String> = error
            .split(MARK)
            .skip(1)
            .filter_map(|rest| rest.split_once(';').map(|(kind, _)| kind.to_owned()))
            .collect();
        let all = || described.structures.keys().cloned().chain(claims(described).into_keys());
        // A fault that is not about a layout says nothing about any of them.
        let refuted = if text.is_none() && refuted.is_empty() { all().collect() } else { refuted };
        leave_out(described, &refuted);
    }
    for function in described.ready.iter_mut().chain(&mut described.undecided) {
        if let Some(members) = function.as_object_mut() {
            members.remove(super::allocate::C_NAME);
            members.remove(super::allocate::C_SIZE);
        }
    }
    for structure in described.structures.values_mut() {
        if let Some(members) = structure.as_object_mut() {
            members.remove(super::allocate::C_NAME);
        }
    }
    Ok(())
}

/// What the compiler is asked about sizes and members.
fn assertions(described: &Described) -> String {
    let mut lines = String::new();
    let mut add = |kind: &str, condition: String| {
        // Writing to a text cannot fail.
        writeln!(lines, "_Static_assert({condition}, \"{MARK}{kind};\");").ok();
    };
    for (kind, (name, size)) in claims(described) {
        add(&kind, format!("sizeof({name}) == {size}"));
    }
    for (kind, structure) in &described.structures {
        let Some(name) = structure[super::allocate::C_NAME].as_str() else { continue };
        add(kind, format!("sizeof({name}) == {}", structure["size"]));
        for field in structure["fields"].as_array().into_iter().flatten() {
            let (member, offset) = (field["name"].as_str().unwrap_or_default(), &field["offset"]);
            if field.get("bits").is_none() && member != "members" {
                add(kind, format!("offsetof({name}, {member}) == {offset}"));
            }
        }
    }
    lines
}

/// The structures that functions allocate or read, with their names in C and their sizes.
fn claims(described: &Described) -> BTreeMap<String, (String, u64)> {
    let claimed = |function: &Value| {
        let name = function[super::allocate::C_NAME].as_str()?.to_owned();
        let size = function[super::allocate::C_SIZE].as_u64()?;
        Some((kind_of(function)?, (name, size)))
    };
    described.ready.iter().filter_map(claimed).collect()
}

fn kind_of(function: &Value) -> Option<String> {
    let parameters = function["parameters"].as_array().into_iter().flatten();
    let mut parts = parameters.chain([&function["return"]]);
    parts.find_map(|part| part["schema"]["cType"]["handle"].as_str().map(str::to_owned))
}

/// Removes structures, those that contain them, and functions that use any of these.
fn leave_out(described: &mut Described, refuted: &BTreeSet<String>) {
    let mut out = refuted.clone();
    loop {
        let uses = |value: &Value| named_in(value).iter().any(|name| out.contains(name));
        let more: Vec<String> = described
            .structures
            .iter()
            .filter(|(kind, structure)| !out.contains(*kind) && uses(structure))
            .map(|(kind, _)| kind.clone())
            .collect();
        if more.is_empty() {
            break;
        }
        out.extend(more);
    }
    let is_good = |function: &Value| {
        let is_memory = function.get(super::allocate::C_NAME).is_some();
        let is_refuted = is_memory && kind_of(function).is_some_and(|kind| out.contains(&kind));
        !is_refuted && !named_in(function).iter().any(|name| out.contains(name))
    };
    let why = "the compiler does not confirm the layout of a structure that it uses";
    let (good, bad): (Vec<Value>, Vec<Value>) = described.ready.drain(..).partition(is_good);
    described.ready = good;
    described.undecided.retain(is_good);
    let declared = bad.iter().filter(|function| function.get(super::allocate::C_NAME).is_none());
    let named = declared.filter_map(|function| function.get("symbol").unwrap_or(&function["name"]).as_str());
    described.impossible.extend(named.map(|name| (name.to_owned(), why.to_owned())));
    described.structures.retain(|kind, _| !out.contains(kind));
}
