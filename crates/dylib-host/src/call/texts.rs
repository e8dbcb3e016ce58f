//! Arguments that are more than numbers and buffers: lists of texts that a function reads, copies that outlive the call,
//! callbacks, and structures, which are in a file of their own.

use std::ffi::c_void;
use std::sync::Arc;

use super::arena::Arena;
use super::arguments::{Arguments, Span, check_outputs};
use super::callbacks::{finish, register};
use super::function::{Function, Step};
use crate::callback::Callback;
use crate::fault::{CallError, CallFault};
use crate::limits::WorkerLimits;
use crate::plan::Direction;
use crate::structure::Structures;
use crate::value::{Reader, ValueError};

impl Arguments {
    /// Reads what is more than numbers and buffers.
    pub(super) fn read_more(
        &mut self,
        function: &Function,
        index: usize,
        (reader, payload): (&mut Reader<'_>, &[u8]),
    ) -> Result<(), CallError> {
        match &function.steps[index] {
            Step::Structures(structures) if structures.direction == Direction::Out => {
                self.given[index] = None;
                Ok(())
            }
            Step::Structures(structures) => {
                self.read_structures(function, index, &structures.one, (reader, payload))
            }
            Step::StructureValue(one) => self.read_structures(function, index, one, (reader, payload)),
            _ => {
                let malformed = |error: ValueError| CallFault::Malformed.because(error.to_string());
                let bytes = reader.bytes().map_err(malformed)?;
                self.given[index] = bytes.map(|bytes| Span::inside(payload, bytes));
                Ok(())
            }
        }
    }

    /// Places it; says how many bytes of outputs that makes.
    pub(super) fn place_more(
        &mut self,
        function: &Function,
        arena: &mut Arena,
        (index, limits): (usize, &WorkerLimits),
        payload: &[u8],
    ) -> Result<u64, CallError> {
        match &function.steps[index] {
            Step::Structures(structures) => {
                let Structures { one, direction, .. } = &**structures;
                if *direction != Direction::Out && self.given[index].is_none() {
                    (self.words[index], self.room[index]) = (0, 0);
                    return Ok(0);
                }
                let size = self.size(function, index, structures.size, payload)?;
                let content = self.given[index].map_or(0, |given| (given.length / one.size) as u64);
                let count = self.elements(function, index, *direction, (content, 0, size))?;
                let outputs =
                    if *direction == Direction::In { 0 } else { count.saturating_mul(one.size as u64) };
                // Before so much is placed.
                check_outputs(function, index, (outputs, limits))?;
                self.place_structures(function, arena, (index, one, count as usize), payload)?;
                return Ok(outputs);
            }
            Step::StructureValue(one) => self.place_structures(function, arena, (index, one, 1), payload)?,
            Step::Texts { terminated } => self.place_texts(function, arena, (index, *terminated), payload)?,
            Step::Kept { terminated, .. } => self.place_kept(function, (index, *terminated), payload)?,
            Step::Callback(callback) => self.place_callback(function, index, callback, limits)?,
            _ => {}
        }
        Ok(0)
    }

    fn place_callback(
        &mut self,
        function: &Function,
        index: usize,
        callback: &Arc<Callback>,
        limits: &WorkerLimits,
    ) -> Result<(), CallError> {
        let object = callback.listener.map(|object| self.words[object] as usize);
        let most = usize::try_from(limits.outputs).unwrap_or(usize::MAX);
        let Some((slot, code)) = register(callback, object, most) else {
            let what = "cannot be given: too many callbacks are in use";
            return Err(function.about(CallFault::OutOfRange, index, what));
        };
        if object.is_none() {
            self.callbacks.push((index, slot));
        }
        self.words[index] = code;
        Ok(())
    }

    /// Pointers to texts, which lie in front of them in the same region.
    pub(super) fn place_texts(
        &mut self,
        function: &Function,
        arena: &mut Arena,
        (index, terminated): (usize, bool),
        payload: &[u8],
    ) -> Result<(), CallError> {
        let Some(given) = self.given[index] else {
            (self.words[index], self.room[index]) = (0, 0);
            return Ok(());
        };
        let content = &payload[given.start..][..given.length];
        let texts = texts(content).map_err(|error| CallFault::Malformed.because(error.to_string()))?;
        let slots = (texts.len() + usize::from(terminated)) * size_of::<usize>();
        let letters: usize = texts.iter().flatten().map(|text| text.len() + 1).sum();
        let start = self.reserve(function, arena, index, letters + slots)?;
        // SAFETY: `reserve` made room for all letters, their NULs, and behind them the pointers.
        unsafe {
            let pointers = start.add(letters);
            pointers.write_bytes(0, slots);
            let mut cursor = start;
            for (at, text) in texts.iter().enumerate() {
                let Some(text) = text else { continue };
                cursor.copy_from_nonoverlapping(text.as_ptr(), text.len());
                cursor.add(text.len()).write(0);
                pointers.add(at * size_of::<usize>()).cast::<*mut u8>().write_unaligned(cursor);
                cursor = cursor.add(text.len() + 1);
            }
            self.words[index] = pointers as u64;
        }
        self.room[index] = texts.len() * size_of::<usize>();
        Ok(())
    }

    /// A copy for a function that keeps the pointer.
    pub(super) fn place_kept(
        &mut self,
        function: &Function,
        (index, terminated): (usize, bool),
        payload: &[u8],
    ) -> Result<(), CallError> {
        let Some(Span { start, length }) = self.given[index] else {
            (self.words[index], self.room[index]) = (0, 0);
            return Ok(());
        };
        let room = length + usize::from(terminated);
        // SAFETY: `malloc` may be asked for any size.
        let copy = unsafe { libc::malloc(room.max(1)) };
        if copy.is_null() {
            return Err(function.about(CallFault::NoMemory, index, &format!("needs {room} bytes")));
        }
        // SAFETY: the copy has room for the content and the NUL.
        unsafe {
            copy.cast::<u8>().copy_from_nonoverlapping(payload[start..].as_ptr(), length);
            if terminated {
                copy.cast::<u8>().add(length).write(0);
            }
        }
        self.copies.push((index, copy as usize));
        self.words[index] = copy as u64;
        self.room[index] = room;
        Ok(())
    }

    /// Ends the callbacks that are not to outlive the call.
    pub(super) fn end_callbacks(&mut self) {
        for (_, slot) in self.callbacks.drain(..) {
            finish(slot);
        }
    }

    /// Frees the copies of a call that had no effect.
    pub(super) fn free_copies(&mut self) {
        for (_, copy) in self.copies.drain(..) {
            // SAFETY: the copy was made by `malloc` and nobody else has it.
            unsafe { libc::free(copy as *mut c_void) };
        }
    }
}

fn texts(content: &[u8]) -> Result<Vec<Option<&[u8]>>, ValueError> {
    let mut reader = Reader::new(content);
    let mut texts = Vec::new();
    while reader.clone().end().is_err() {
        texts.push(reader.bytes()?);
    }
    Ok(texts)
}
