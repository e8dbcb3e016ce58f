//! How the server as a whole does.

use std::collections::BTreeMap;

use serde::Serialize;
use toolmux_core::receipt::Receipt;

use crate::operator::Operator;
use crate::series::{MinuteCounts, refused};
use crate::view::{SourceRow, sources};

/// How the server does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Overview {
    pub(crate) version: String,
    /// Every source was heard of once.
    pub(crate) ready: bool,
    /// Why the store records nothing any more.
    pub(crate) store_fault: Option<String>,
    /// Nobody has to show a key.
    pub(crate) open: bool,
    pub(crate) tools: usize,
    /// Tools that are known and not served, without those that the configuration hides.
    pub(crate) unserved: usize,
    pub(crate) sources: Vec<SourceRow>,
    pub(crate) returned: u64,
    pub(crate) failed: u64,
    pub(crate) refused: u64,
    pub(crate) running: u64,
    pub(crate) refusals: BTreeMap<String, u64>,
    pub(crate) minutes: Vec<MinuteCounts>,
}

/// How many calls went from a caller to a tool of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Flow {
    pub(crate) source: String,
    pub(crate) tool: String,
    pub(crate) caller: String,
    pub(crate) calls: u64,
}

pub(crate) fn overview(operator: &Operator) -> Overview {
    let gateway = &operator.web.gateway;
    let totals = operator.console.series.totals(gateway);
    let sources = sources(operator);
    Overview {
        version: operator.console.program.version().to_owned(),
        ready: gateway.sources().is_ready(),
        store_fault: gateway.store().fault().map(|fault| fault.message.public),
        open: gateway.admission().info().is_open,
        tools: gateway.catalog().len(),
        unserved: sources.iter().map(|source| source.unserved).sum(),
        minutes: operator.console.series.minutes(&totals),
        sources,
        returned: totals.returned,
        failed: totals.failed,
        refused: refused(&totals),
        running: totals.running,
        refusals: totals.refusals.into_iter().collect(),
    }
}

/// What went where, by receipts, the most first.
pub(crate) fn flows(receipts: &[Receipt]) -> Vec<Flow> {
    let mut counted: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    for receipt in receipts {
        let Some(source) = receipt.source.as_deref() else { continue };
        *counted.entry((source, &receipt.tool, &receipt.caller)).or_default() += 1;
    }
    let flow = |((source, tool, caller), calls): ((&str, &str, &str), u64)| Flow {
        source: source.to_owned(),
        tool: tool.to_owned(),
        caller: caller.to_owned(),
        calls,
    };
    let mut flows: Vec<Flow> = counted.into_iter().map(flow).collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.calls));
    flows
}
