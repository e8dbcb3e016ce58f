//! `self-check`: the bare handler against itself. A ratio far from one says how little to believe today's numbers.

use crate::bench::compare::compare;
use crate::bench::opentool_add::{BARE_AXUM, exchange};
use crate::bench::report::Report;
use crate::bench::server::Subject;
use crate::bench::{Bench, Benchmark};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "self-check",
    about: "the bare handler against itself: every ratio should be near 1",
    run,
};

fn run(bench: &Bench<'_>) -> anyhow::Result<Report> {
    compare(bench, &[Subject { label: "bare axum again", ..BARE_AXUM }, BARE_AXUM], exchange())
}
