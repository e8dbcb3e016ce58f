//! Sources and how they do. Nothing is said of a source that was not heard.

use serde::Serialize;
use toolmux_core::catalog::UnservedCause;
use toolmux_core::sources::{SourceReport, SourceStatus};

use crate::operator::Operator;
use crate::program::SourceOrigin;
use crate::series::time;
use crate::view::tools::counted;

/// A source with what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SourceRow {
    pub(crate) name: String,
    pub(crate) toolkit: String,
    pub(crate) kind: String,
    pub(crate) place: String,
    /// `ready`, `connecting`, `failing`, `off` or `absent`.
    pub(crate) state: &'static str,
    /// When it last listed its tools or failed to.
    pub(crate) heard: Option<String>,
    /// Why it is failing.
    pub(crate) error: Option<String>,
    /// What it printed, and other words for its operator.
    pub(crate) detail: Option<String>,
    pub(crate) tools: usize,
    /// Tools of it that are known and not served, without those that the configuration hides.
    pub(crate) unserved: usize,
    /// Tools of it that the configuration hides.
    pub(crate) withheld: usize,
    /// Its tools are those of an earlier run.
    pub(crate) remembered: bool,
    /// For how many seconds its circuit breaker refuses calls.
    pub(crate) breaker_seconds: Option<f64>,
    pub(crate) running: usize,
    pub(crate) returned: u64,
    pub(crate) failed: u64,
    pub(crate) refused: u64,
    /// The mean time of its calls, in seconds.
    pub(crate) mean_seconds: Option<f64>,
}

/// Every source of the configuration, and those that are mounted without standing in it.
pub(crate) fn sources(operator: &Operator) -> Vec<SourceRow> {
    let (reports, origins) = (operator.web.gateway.sources().reports(), operator.console.program.sources());
    let mut rows: Vec<SourceRow> = reports
        .iter()
        .map(|report| {
            let origin = origins.iter().find(|origin| origin.name == report.name);
            mounted(report, origin.cloned().unwrap_or_default())
        })
        .collect();
    let is_mounted = |origin: &&SourceOrigin| reports.iter().any(|report| report.name == origin.name);
    rows.extend(origins.iter().filter(|origin| !is_mounted(origin)).map(not_mounted));
    count(operator, &mut rows);
    rows
}

fn mounted(report: &SourceReport, origin: SourceOrigin) -> SourceRow {
    let (state, error, detail) = match &report.status {
        SourceStatus::Connecting => ("connecting", None, None),
        SourceStatus::Ready => ("ready", None, None),
        SourceStatus::Failing(message) => {
            ("failing", Some(message.public.clone()), message.developer.clone())
        }
    };
    SourceRow {
        name: report.name.clone(),
        toolkit: report.toolkit.clone(),
        state,
        error,
        detail,
        heard: report.heard.map(time),
        tools: report.tools,
        remembered: report.is_remembered,
        breaker_seconds: report.breaker_open.map(|left| left.as_secs_f64()),
        running: report.running,
        ..not_mounted(&origin)
    }
}

fn not_mounted(origin: &SourceOrigin) -> SourceRow {
    SourceRow {
        name: origin.name.clone(),
        toolkit: String::new(),
        kind: origin.kind.clone(),
        place: origin.place.clone(),
        state: if origin.is_off { "off" } else { "absent" },
        heard: None,
        error: None,
        detail: None,
        tools: 0,
        unserved: 0,
        withheld: 0,
        remembered: false,
        breaker_seconds: None,
        running: 0,
        returned: 0,
        failed: 0,
        refused: 0,
        mean_seconds: None,
    }
}

/// Adds what was counted of the tools of each source.
fn count(operator: &Operator, rows: &mut [SourceRow]) {
    let catalog = operator.web.gateway.catalog();
    let counts = operator.web.gateway.call_counts();
    let mut times = vec![(0.0, 0); rows.len()];
    // Versions of one tool are counted together.
    for entry in catalog.newest(&operator.caller) {
        let Some(counted) = counted(&counts, entry) else { continue };
        let Some(place) = rows.iter().position(|row| row.name == entry.source()) else { continue };
        rows[place].returned += counted.returned;
        rows[place].failed += counted.failed;
        rows[place].refused += counted.refused;
        times[place].0 += counted.seconds;
        times[place].1 += counted.timed;
    }
    for (row, (sum, calls)) in rows.iter_mut().zip(times) {
        row.mean_seconds = (calls > 0).then(|| sum / calls as f64);
    }
    for tool in catalog.unserved() {
        let Some(row) = rows.iter_mut().find(|row| row.name == tool.source) else { continue };
        match tool.cause {
            UnservedCause::Hidden => row.withheld += 1,
            UnservedCause::Unusable | UnservedCause::Collision => row.unserved += 1,
        }
    }
}
