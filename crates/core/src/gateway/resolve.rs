//! Which tool, and which version of it.

use crate::call::Caller;
use crate::catalog::Catalog;
use crate::names::ToolRef;
use crate::nearest::nearest;
use crate::refusal::Refusal;

/// The place of the tool in the catalogue.
pub(super) fn resolve(catalog: &Catalog, caller: &Caller, wanted: &ToolRef) -> Result<usize, Refusal> {
    catalog.find(wanted).ok_or_else(|| unknown(catalog, caller, wanted))
}

/// What it says depends on nothing but the name and the tools that the caller may call: tools that are hidden from it,
/// that are not served, and that do not exist are refused with the same words.
fn unknown(catalog: &Catalog, caller: &Caller, wanted: &ToolRef) -> Refusal {
    let other_version = ToolRef { version: None, ..wanted.clone() };
    let known = catalog.find(&other_version).filter(|&place| catalog.permits(caller, place));
    let (nearest, developer) = match known {
        Some(place) => {
            let id = &catalog.entry(place).id;
            (None, Some(format!("`{wanted}` is not available; the newest version is {}", id.version)))
        }
        None => (near(catalog, caller, wanted), None),
    };
    Refusal::UnknownTool { tool: wanted.to_string(), nearest, developer }
}

/// The tool that may have been meant, of those that the caller may call.
pub(super) fn near(catalog: &Catalog, caller: &Caller, wanted: &ToolRef) -> Option<String> {
    match &wanted.toolkit {
        None => {
            let own = catalog.newest(caller).find(|entry| *entry.tool.name == *wanted.tool);
            let flat = || nearest(&wanted.tool, catalog.newest(caller).map(|entry| &*entry.flat));
            own.map(|entry| &*entry.flat).or_else(flat).map(str::to_owned)
        }
        Some(_) => {
            let ids: Vec<String> = catalog
                .newest(caller)
                .take(2_000)
                .map(|entry| format!("{}.{}", entry.id.toolkit, entry.id.tool))
                .collect();
            nearest(&wanted.to_string(), ids.iter().map(String::as_str)).map(str::to_owned)
        }
    }
}
