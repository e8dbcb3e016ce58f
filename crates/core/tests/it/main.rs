//! What users of the gateway rely on, seen from outside.

mod admission;
mod breaker;
mod catalogue;
mod counted_store;
mod fairness;
mod fixture;
mod layers;
mod ledger;
mod metrics;
mod path;
mod receipts;
mod relay;
mod scale;
mod shaping;
mod starting;
mod stored_keys;
mod tasks;
mod tokens;
mod traces;
