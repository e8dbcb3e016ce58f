//! What one call does to the table: room for the objects that it opens is reserved before it is sent, and its answer
//! is entered as soon as it is there, whether or not anybody still waits for it.

use std::sync::Arc;

use toolmux_dylib_host::fault::CallFault;
use toolmux_dylib_host::value::{Reader, ValueError};

use super::table::{Found, HandleTable, Holder};
use super::text::HandleId;

/// What stands at one place of a RESULT, as far as finding the handles in it needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::opendyn) enum Slot {
    Word,
    Bytes,
    Handle(String),
    /// Structures of so many bytes with so many pointers that are followed.
    Structures(usize, usize),
}

/// Goes with a call that opens or closes objects. Dropping it gives back what was reserved.
pub(in crate::opendyn) struct Ticket {
    pub(super) table: Arc<HandleTable>,
    /// Whose the opened objects are; nobody's when the call opens none.
    pub(super) holder: Option<Holder>,
    pub(super) reserved: usize,
    /// The session in which they are opened.
    pub(super) session: Option<Arc<str>>,
    pub(super) made_from: Vec<HandleId>,
    pub(super) closing: Vec<HandleId>,
    pub(super) slots: Arc<[Slot]>,
}

impl Ticket {
    /// The function returned these values, in the worker of this generation.
    pub(in crate::opendyn) fn returned(mut self, values: &[u8], generation: u32) -> Opened {
        let (table, slots) = (Arc::clone(&self.table), Arc::clone(&self.slots));
        let found = table.handles_in(&slots, values, generation);
        let given = table.settle(&mut self, &found);
        Opened { table, given, claimed: false }
    }

    /// The call has a fault. Where the function ran all the same, what it was told to close is closed.
    pub(in crate::opendyn) fn failed(mut self, fault: CallFault) {
        if fault.has_run() {
            let table = Arc::clone(&self.table);
            table.settle(&mut self, &[]);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(holder) = &self.holder {
            self.table.give_back(holder, self.reserved);
        }
    }
}

impl HandleTable {
    /// The handles of a RESULT. A library may have taken over the process that wrote it: one that names objects of
    /// another worker is not believed.
    fn handles_in<'a>(&self, slots: &'a [Slot], values: &[u8], generation: u32) -> Vec<Found<'a>> {
        let mut reader = Reader::new(values);
        let mut found = Vec::new();
        for slot in slots {
            let read = match slot {
                Slot::Word => reader.word().map(|_| ()),
                Slot::Bytes => reader.bytes().map(|_| ()),
                Slot::Structures(size, pointers) => skip_structures(&mut reader, *size, *pointers),
                Slot::Handle(tag) => reader.word().map(|word| {
                    if word != 0 && word >> 32 == u64::from(generation) {
                        found.push(Found { tag, word, closable: self.is_closable(tag) });
                    }
                }),
            };
            if read.is_err() {
                break;
            }
        }
        found
    }
}

/// Handles that a call gives to its caller. If nobody takes them, they are closed: nobody would know them.
pub(in crate::opendyn) struct Opened {
    table: Arc<HandleTable>,
    given: Vec<Given>,
    claimed: bool,
}

pub(super) struct Given {
    pub(super) word: u64,
    pub(super) id: HandleId,
    /// The caller did not have it before.
    pub(super) fresh: bool,
}

impl Opened {
    /// What the caller sees of an object.
    pub(in crate::opendyn) fn text(&self, tag: &str, word: u64) -> Option<String> {
        self.given.iter().find(|given| given.word == word).map(|given| given.id.text(tag))
    }

    /// The caller is told of them.
    pub(in crate::opendyn) fn claim(mut self) {
        self.claimed = true;
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.claimed {
            self.table.abandon(self.given.iter().filter(|given| given.fresh).map(|given| given.id));
        }
    }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Opened({})", self.given.len())
    }
}

fn skip_structures(reader: &mut Reader<'_>, size: usize, pointers: usize) -> Result<(), ValueError> {
    let count = reader.bytes()?.map_or(0, |bytes| bytes.len() / size.max(1));
    (0..count * pointers).try_for_each(|_| reader.bytes().map(|_| ()))
}
