//! What users of the gateway rely on, seen from outside.

mod admission;
mod breaker;
mod catalogue;
mod fairness;
mod fixture;
mod layers;
mod ledger;
mod metrics;
mod path;
mod receipts;
mod relay;
mod shaping;
mod starting;
mod stored_keys;
mod tasks;
mod tokens;
mod traces;
