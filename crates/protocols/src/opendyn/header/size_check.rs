//! Sizes of structures as the compiler sees them: ours do not know of packed structures or other alignments.

use std::collections::BTreeMap;

use serde_json::Value;

use super::preprocess::{HeaderError, compiler_words, include_lines, run};
use super::request::HeaderRequest;

/// What the message of a failed check begins with; the kind of the structure follows.
const MARK: &str = "toolmux-size:";

/// Leaves out functions that allocate or read structures whose size the compiler does not confirm.
pub(super) async fn retain_confirmed(
    ready: &mut Vec<Value>,
    request: &HeaderRequest,
) -> Result<(), HeaderError> {
    let sizes: BTreeMap<String, (String, u64)> = ready.iter().filter_map(claimed).collect();
    if sizes.is_empty() {
        return Ok(());
    }
    let mut source = include_lines(request).await?;
    let assertion = |(kind, (name, size)): (&String, &(String, u64))| {
        format!("_Static_assert(sizeof({name}) == {size}, \"{MARK}{kind};\");\n")
    };
    let assertions: Vec<String> = sizes.iter().map(assertion).collect();
    source.push_str(&assertions.concat());
    let argv = compiler_words(request, &["-fsyntax-only", "-w"]).await?;
    let (text, error) = run("cc", &argv, source.as_bytes()).await?;
    let is_whole = text.is_some();
    let is_refuted = |kind: &str| error.contains(&format!("{MARK}{kind};"));
    let has_other_faults = !is_whole && !sizes.keys().any(|kind| is_refuted(kind));
    ready.retain(|function| {
        let kind = claimed(function).map(|(kind, _)| kind).or_else(|| freed(function));
        kind.is_none_or(|kind| is_whole || (!has_other_faults && !is_refuted(&kind)))
    });
    for function in ready {
        if let Some(members) = function.as_object_mut() {
            members.remove(super::allocate::C_NAME);
        }
    }
    Ok(())
}

/// The kind of structure that a function allocates or reads, with its name in C and its size.
fn claimed(function: &Value) -> Option<(String, (String, u64))> {
    let name = function[super::allocate::C_NAME].as_str()?.to_owned();
    let part = match function["symbol"].as_str()? {
        "calloc" => &function["return"],
        "memcpy" => &function["parameters"][1],
        _ => return None,
    };
    let size = &function["parameters"].as_array()?.last()?["schema"]["const"];
    let kind = part["schema"]["cType"]["handle"].as_str()?.to_owned();
    Some((kind, (name, size.as_u64()?)))
}

fn freed(function: &Value) -> Option<String> {
    let is_freeing = function["symbol"] == "free" && function.get(super::allocate::C_NAME).is_some();
    let kind = function["parameters"][0]["schema"]["cType"]["handle"].as_str()?;
    is_freeing.then(|| kind.to_owned())
}
