//! The handles among the arguments of one call.

use super::table::{HandleTable, Owner};
use super::text::HandleId;

/// Finds the objects behind handles while arguments are read. Nothing is locked or allocated for a call without any.
pub(in crate::opendyn) struct UsedHandles<'a> {
    table: &'a HandleTable,
    owner: Owner<'a>,
    pub(super) ids: Vec<HandleId>,
    /// Those that the call closes.
    pub(super) closing: Vec<HandleId>,
    generation: Option<u32>,
}

impl<'a> UsedHandles<'a> {
    pub(in crate::opendyn) fn new(table: &'a HandleTable, owner: Owner<'a>) -> Self {
        UsedHandles { table, owner, ids: Vec::new(), closing: Vec::new(), generation: None }
    }

    /// The worker's number of the object; the fault is in words that follow the name of the parameter.
    pub(in crate::opendyn) fn word(&mut self, tag: &str, text: &str) -> Result<u64, String> {
        let (id, word) = self.table.find(self.owner, tag, text)?;
        let generation = (word >> 32) as u32;
        if self.generation.is_some_and(|other| other != generation) {
            return Err("is in another worker process than another handle of this call; \
                        a library that keeps objects needs `workers = 1`"
                .to_owned());
        }
        self.generation = Some(generation);
        self.ids.push(id);
        Ok(word)
    }

    pub(in crate::opendyn) fn count(&self) -> usize {
        self.ids.len()
    }

    /// Says that the call closes the objects found since there were `count`.
    pub(in crate::opendyn) fn close_since(&mut self, count: usize) {
        self.closing.extend_from_slice(&self.ids[count..]);
    }

    /// Which worker made them, if there are any.
    pub(in crate::opendyn) fn generation(&self) -> Option<u32> {
        self.generation
    }

    pub(in crate::opendyn) fn owner(&self) -> Owner<'a> {
        self.owner
    }
}
