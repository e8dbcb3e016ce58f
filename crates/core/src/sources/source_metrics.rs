//! Metrics of sources, put together when somebody reads them: state, tools, circuit breakers, connections, child
//! processes, and calls that run or wait now.

use std::collections::BTreeMap;

use super::breaker::Breaker;
use super::gate::GateLoad;
use super::slots::{SourceStatus, Sources};
use crate::limits::Limits;
use crate::metrics::{MetricFamily, NumberSample};
use crate::ports::figures::SourceFigures;
use crate::ports::source::FailureScope;

/// What is said of one source.
#[derive(Default)]
struct SourceState {
    ready: bool,
    tools: usize,
    in_flight: usize,
    open_breakers: usize,
    figures: SourceFigures,
}

impl Sources {
    /// All metrics of sources. The cost is linear in the number of tools.
    pub(crate) fn metric_families(&self) -> Vec<MetricFamily> {
        let limits = self.rules().limits;
        let states = self.states(&limits);
        let mut families = Vec::from(describe(&states));
        families.extend(describe_figures(&states));
        let load = self.call_load(limits.metrics_tools);
        families.extend([
            MetricFamily::gauge(
                "toolmux_calls_running",
                "Calls running now",
                by_tool(&load, |load| load.running),
            ),
            MetricFamily::gauge(
                "toolmux_calls_waiting",
                "Calls that wait for their turn",
                by_tool(&load, |load| load.waiting),
            ),
        ]);
        families
    }

    /// How many calls run now.
    pub(crate) fn calls_running(&self) -> u64 {
        let busy = self.catalog();
        let busy = busy.entries().filter(|entry| !entry.mount.calls.is_empty());
        busy.map(|entry| entry.gate.load().running as u64).sum()
    }

    fn states(&self, limits: &Limits) -> BTreeMap<String, SourceState> {
        let mut states = BTreeMap::<String, SourceState>::new();
        self.slots(|slots| {
            for slot in slots.iter() {
                let mount = &slot.mount;
                let state = states.entry(mount.name.clone()).or_default();
                let figures = add(state.figures, mount.source.figures());
                let in_flight = state.in_flight + mount.calls.len();
                // A source made anew stands before the one it replaces, which serves until then and counts as well.
                *state = SourceState {
                    ready: slot.status == SourceStatus::Ready,
                    tools: slot.tools.entries.len(),
                    in_flight,
                    open_breakers: usize::from(mount.breaker.is_open(limits)),
                    figures,
                };
                if mount.source.failure_scope() == FailureScope::Tool {
                    let breakers = slot.tools.entries.iter().map(|entry| &*entry.breaker);
                    let is_open = |breaker: &&Breaker| breaker.is_open(limits);
                    state.open_breakers += breakers.filter(is_open).count();
                }
            }
        });
        states
    }

    /// Calls that run or wait now, by tool; of all tools beyond a number together. Read from the catalogue, which no call
    /// waits for.
    fn call_load(&self, most: usize) -> BTreeMap<String, GateLoad> {
        let (catalog, mut load) = (self.catalog(), BTreeMap::<String, GateLoad>::new());
        for entry in catalog.entries().filter(|entry| !entry.mount.calls.is_empty()) {
            let GateLoad { running, waiting } = entry.gate.load();
            if running + waiting == 0 {
                continue;
            }
            let mut tool = format!("{}.{}", entry.id.toolkit, entry.id.tool);
            if load.len() >= most && !load.contains_key(&tool) {
                "other".clone_into(&mut tool);
            }
            let sum = load.entry(tool).or_default();
            (sum.running, sum.waiting) = (sum.running + running, sum.waiting + waiting);
        }
        load
    }
}

fn by_tool(load: &BTreeMap<String, GateLoad>, value: fn(&GateLoad) -> usize) -> Vec<NumberSample> {
    let sample = |(tool, load): (&String, &GateLoad)| {
        NumberSample::new(vec![("tool", tool.clone())], value(load) as u64)
    };
    load.iter().map(sample).collect()
}

fn describe(states: &BTreeMap<String, SourceState>) -> [MetricFamily; 4] {
    let gauge = |name, help, value: fn(&SourceState) -> u64| {
        MetricFamily::gauge(name, help, each(states, &[], |state| Some(value(state))))
    };
    [
        gauge("toolmux_source_ready", "1 if the last listing of a source succeeded", |state| {
            state.ready.into()
        }),
        gauge("toolmux_source_tools", "Tools served by a source", |state| state.tools as u64),
        gauge(
            "toolmux_source_in_flight",
            "Calls and other requests at a source, or waiting for it",
            |state| state.in_flight as u64,
        ),
        gauge(
            "toolmux_source_open_breakers",
            "Circuit breakers of a source and its tools that are open",
            |state| state.open_breakers as u64,
        ),
    ]
}

fn describe_figures(states: &BTreeMap<String, SourceState>) -> Vec<MetricFamily> {
    let connections = |state: &SourceState| state.figures.connections;
    let processes = |state: &SourceState| state.figures.processes;
    let gauge = |name, help, value: &dyn Fn(&SourceState) -> Option<u64>| {
        MetricFamily::gauge(name, help, each(states, &[], value))
    };
    let made = |result: &'static str, value: &dyn Fn(&SourceState) -> Option<u64>| {
        each(states, &[("result", result)], value)
    };
    let mut connects = made("made", &|state| Some(connections(state)?.made));
    connects.extend(made("failed", &|state| Some(connections(state)?.failed)));
    let mut starts = made("started", &|state| Some(processes(state)?.started));
    starts.extend(made("failed", &|state| Some(processes(state)?.failed)));
    vec![
        gauge("toolmux_source_connections", "Open connections to the servers of a source", &|state| {
            Some(connections(state)?.open)
        }),
        MetricFamily::counter("toolmux_source_connects", "Connections made, and those that failed", connects),
        gauge("toolmux_source_processes", "Child processes of a source", &|state| {
            Some(processes(state)?.running)
        }),
        gauge("toolmux_source_process_queue", "Calls that wait for a child process of a source", &|state| {
            Some(processes(state)?.waiting)
        }),
        MetricFamily::counter(
            "toolmux_source_process_starts",
            "Child processes started, and those that ended unasked or did not start",
            starts,
        ),
    ]
}

/// A sample for each source that has the number.
fn each(
    states: &BTreeMap<String, SourceState>,
    more: &[(&'static str, &str)],
    value: impl Fn(&SourceState) -> Option<u64>,
) -> Vec<NumberSample> {
    let sample = |(source, state): (&String, &SourceState)| {
        let mut labels = vec![("source", source.clone())];
        labels.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        Some(NumberSample::new(labels, value(state)?))
    };
    states.iter().filter_map(sample).collect()
}

fn add(mut to: SourceFigures, more: SourceFigures) -> SourceFigures {
    if let Some(more) = more.connections {
        let sum = to.connections.get_or_insert_default();
        (sum.open, sum.made, sum.failed) =
            (sum.open + more.open, sum.made + more.made, sum.failed + more.failed);
    }
    if let Some(more) = more.processes {
        let sum = to.processes.get_or_insert_default();
        (sum.running, sum.started) = (sum.running + more.running, sum.started + more.started);
        (sum.failed, sum.waiting) = (sum.failed + more.failed, sum.waiting + more.waiting);
    }
    to
}
