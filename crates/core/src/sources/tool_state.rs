//! What is kept of a tool while snapshots change: its gate and circuit breaker, so that limits hold across a swap, and
//! its compiled schema, because compiling is what costs most of a new list.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::breaker::Breaker;
use super::gate::Gate;
use crate::names::ToolId;
use crate::schema::{Schema, SchemaError};
use crate::schema_repair::{Repaired, compile};

struct ToolState {
    gate: Arc<Gate>,
    breaker: Arc<Breaker>,
    /// Of the schema that the tool had last.
    compiled: Option<(Schema, Repaired)>,
}

/// The states of all tools of one source.
#[derive(Default)]
pub(super) struct ToolStates(Mutex<HashMap<ToolId, ToolState>>);

impl ToolStates {
    /// The gate and the breaker of a tool: those it has, unless its limits changed.
    pub(super) fn limits(&self, id: &ToolId, concurrency: usize, queue: usize) -> (Arc<Gate>, Arc<Breaker>) {
        let mut states = self.lock();
        let gate = || Arc::new(Gate::new("tool", concurrency, queue));
        let new = || ToolState { gate: gate(), breaker: Arc::default(), compiled: None };
        let state = states.entry(id.clone()).or_insert_with(new);
        if !state.gate.is_of(concurrency, queue) {
            // Calls inside the old gate finish there; only new ones are counted by the new gate.
            state.gate = gate();
        }
        (Arc::clone(&state.gate), Arc::clone(&state.breaker))
    }

    /// The schema of a tool, repaired and compiled only when it has changed. Compiled without the lock: two lists may
    /// compile one schema twice, but none waits for the other.
    pub(super) fn compiled(&self, id: &ToolId, schema: &Schema) -> Result<Repaired, SchemaError> {
        let before = self.lock().get(id).and_then(|state| state.compiled.clone());
        if let Some((_, repaired)) = before.filter(|(before, _)| before.is_same(schema)) {
            return Ok(repaired);
        }
        let repaired = compile(schema)?;
        if let Some(state) = self.lock().get_mut(id) {
            state.compiled = Some((schema.clone(), repaired.clone()));
        }
        Ok(repaired)
    }

    /// Forgets tools that the source no longer has.
    pub(super) fn keep_only<'a>(&self, present: impl ExactSizeIterator<Item = &'a ToolId>) {
        let mut states = self.lock();
        if states.len() > present.len() {
            let present: HashSet<&ToolId> = present.collect();
            states.retain(|id, _| present.contains(id));
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ToolId, ToolState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
