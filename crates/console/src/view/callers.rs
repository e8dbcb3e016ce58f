//! Callers by key, and who of them may call a tool and why.

use serde::Serialize;
use toolmux_core::catalog::Catalog;
use toolmux_core::gateway::TokenToolset;

use crate::operator::Operator;

/// A caller by key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CallerRow {
    pub(crate) name: String,
    pub(crate) toolset: Option<String>,
    pub(crate) operator: bool,
    /// Where its key is: `configuration` or `store`.
    pub(crate) kept: &'static str,
}

/// Whether somebody may call a tool, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CallerAccess {
    pub(crate) caller: String,
    pub(crate) allowed: bool,
    pub(crate) why: String,
}

pub(crate) fn callers(operator: &Operator) -> Vec<CallerRow> {
    let gateway = &operator.web.gateway;
    let row = |caller: toolmux_core::gateway::KnownCaller| CallerRow {
        name: caller.name.to_string(),
        toolset: caller.toolset.as_deref().map(str::to_owned),
        operator: caller.is_operator,
        kept: if gateway.keys().is_configured(&caller.name) { "configuration" } else { "store" },
    };
    gateway.admission().callers().into_iter().map(row).collect()
}

/// Who may call the tool at a place of the catalogue.
pub(crate) fn access(operator: &Operator, catalog: &Catalog, place: usize) -> Vec<CallerAccess> {
    let admission = operator.web.gateway.admission();
    if admission.info().is_open {
        let why = "no key is configured, and this server listens on loopback only".to_owned();
        return vec![CallerAccess { caller: "everybody on this machine".to_owned(), allowed: true, why }];
    }
    let toolsets = catalog.toolsets_of(place);
    let by_toolset = |toolset: Option<&str>| match toolset {
        None => (true, "its key opens every tool".to_owned()),
        Some(toolset) if toolsets.contains(&toolset) => (true, format!("toolset `{toolset}` holds it")),
        Some(toolset) => (false, format!("toolset `{toolset}` does not hold it")),
    };
    let row = |caller: toolmux_core::gateway::KnownCaller| {
        let (allowed, why) = by_toolset(caller.toolset.as_deref());
        CallerAccess { caller: caller.name.to_string(), allowed, why }
    };
    let mut rows: Vec<CallerAccess> = admission.callers().into_iter().map(row).collect();
    if let Some(tokens) = admission.token_toolset() {
        let (allowed, why) = match tokens {
            TokenToolset::Nothing => (false, "a token without the claim `toolset` opens no tool".to_owned()),
            TokenToolset::Everything => (true, "`jwt.toolset` is \"*\"".to_owned()),
            TokenToolset::Named(name) => by_toolset(Some(&name)),
        };
        rows.push(CallerAccess { caller: "tokens without the claim `toolset`".to_owned(), allowed, why });
    }
    rows
}
