//! One file per scenario or family of scenarios, and the list of them.

mod bad_upstreams;
mod bad_upstreams_breaker;
mod child_crash;
mod config_rewrites;
mod crowds;
mod fairness;
mod followers;
mod many_tools;
mod memory;
mod overload;
mod pg_full;
mod pg_standby;
mod postgres_faults;
mod rolling_restart;
mod soak;
mod sqlite_full;
mod sqlite_io_error;
mod sqlite_kill;
mod sqlite_shared;

use super::Scenario;

pub(super) const SCENARIOS: &[Scenario] = &[
    rolling_restart::SLOW_SOURCE,
    rolling_restart::IN_FLIGHT,
    rolling_restart::FAST_SOURCE,
    postgres_faults::KILL,
    postgres_faults::TERMINATE,
    postgres_faults::STOP,
    postgres_faults::SILENT,
    pg_full::SCENARIO,
    pg_standby::SCENARIO,
    sqlite_kill::SCENARIO,
    sqlite_full::ONE,
    sqlite_full::EIGHT,
    sqlite_full::SIXTY_FOUR,
    sqlite_io_error::SCENARIO,
    sqlite_shared::TWO_SERVERS,
    sqlite_shared::REMOVED,
    sqlite_shared::REPLACED,
    child_crash::SCENARIO,
    bad_upstreams::SCENARIO,
    bad_upstreams_breaker::SCENARIO,
    fairness::SCENARIO,
    memory::SCENARIO,
    many_tools::SCENARIO,
    config_rewrites::SCENARIO,
    overload::SCENARIO,
    crowds::IDLE,
    followers::SCENARIO,
    crowds::SLOW_BODIES,
    soak::SCENARIO,
];
