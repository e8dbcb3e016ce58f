//! Structures of a call: their bytes and what their pointers lead to, placed in front of them, and both copied back.

use std::ffi::c_char;
use std::slice;

use super::arena::Arena;
use super::arguments::{Arguments, Span};
use super::function::Function;
use super::results::{Results, put};
use crate::fault::{CallError, CallFault};
use crate::structure::{PointerTarget, Structure};
use crate::value::Reader;

/// Targets of pointers begin at multiples of this.
const ALIGNED: usize = 16;

impl Arguments {
    /// Reads structures and the targets of their pointers off the payload.
    pub(super) fn read_structures(
        &mut self,
        function: &Function,
        index: usize,
        one: &Structure,
        (reader, payload): (&mut Reader<'_>, &[u8]),
    ) -> Result<(), CallError> {
        let malformed = |error: crate::value::ValueError| CallFault::Malformed.because(error.to_string());
        let bytes = reader.bytes().map_err(malformed)?;
        self.given[index] = bytes.map(|bytes| Span::inside(payload, bytes));
        let Some(bytes) = bytes else { return Ok(()) };
        if bytes.len() % one.size != 0 {
            return Err(function.about(CallFault::Malformed, index, "ends inside a structure"));
        }
        for _ in 0..(bytes.len() / one.size) * one.pointers.len() {
            let target = reader.bytes().map_err(malformed)?;
            self.targets.push((index, target.map(|target| Span::inside(payload, target))));
        }
        Ok(())
    }

    /// Places structures at the end of the region of a parameter, what they point to in front of them.
    pub(super) fn place_structures(
        &mut self,
        function: &Function,
        arena: &mut Arena,
        (index, one, capacity): (usize, &Structure, usize),
        payload: &[u8],
    ) -> Result<(), CallError> {
        let own = |target: &&(usize, Option<Span>)| target.0 == index;
        let targets: usize = self.targets.iter().filter(own).filter_map(|target| target.1).map(room_of).sum();
        let bytes = capacity.saturating_mul(one.size);
        let start = self.reserve(function, arena, index, targets.saturating_add(bytes))?;
        // SAFETY: `reserve` made this much room, the structures being the end of it.
        let structures = unsafe {
            let structures = start.add(targets);
            structures.write_bytes(0, bytes);
            structures
        };
        if let Some(given) = self.given[index] {
            let content = &payload[given.start..][..given.length];
            // SAFETY: the capacity is at least as large as the content.
            unsafe { structures.copy_from_nonoverlapping(content.as_ptr(), content.len()) };
        }
        let mut cursor = start;
        for (at, target) in self.targets.iter().filter(own).enumerate() {
            let (structure, pointer) = (at / one.pointers.len(), at % one.pointers.len());
            let offset = structure * one.size + one.pointers[pointer].offset;
            let mut address: *mut u8 = std::ptr::null_mut();
            if let Some(target) = target.1 {
                let content = &payload[target.start..][..target.length];
                // SAFETY: `room_of` counted the content, a NUL behind it and the alignment in front of it.
                unsafe {
                    address = cursor.add(cursor.align_offset(ALIGNED));
                    address.copy_from_nonoverlapping(content.as_ptr(), content.len());
                    address.add(content.len()).write(0);
                    cursor = cursor.add(room_of(target));
                }
            }
            // SAFETY: the pointer is a member of a structure that was placed.
            unsafe { structures.add(offset).cast::<*mut u8>().write_unaligned(address) };
        }
        self.words[index] = structures as u64;
        self.room[index] = bytes;
        Ok(())
    }
}

/// What a target takes, a NUL and alignment included.
fn room_of(target: Span) -> usize {
    target.length + 1 + 2 * ALIGNED
}

impl Results<'_> {
    /// Appends the bytes of structures and what their pointers lead to.
    pub(super) fn write_structures(
        &self,
        one: &Structure,
        (bytes, index): (&[u8], Option<usize>),
        output: &mut Vec<u8>,
    ) -> Result<(), CallError> {
        put(output, Some(bytes))?;
        for structure in bytes.chunks_exact(one.size) {
            for pointer in &one.pointers {
                self.write_target(structure, (pointer.offset, &pointer.target), index, output)?;
            }
        }
        Ok(())
    }

    fn write_target(
        &self,
        structure: &[u8],
        (offset, target): (usize, &PointerTarget),
        index: Option<usize>,
        output: &mut Vec<u8>,
    ) -> Result<(), CallError> {
        let bytes = structure.get(offset..).and_then(|rest| rest.first_chunk());
        let address = bytes.map_or(0, |bytes| usize::from_ne_bytes(*bytes));
        if address == 0 {
            return put(output, None);
        }
        let length = match target {
            PointerTarget::Text => self.text_length(address, index)?,
            PointerTarget::Elements { width, times, factors } => {
                let count = factors.iter().fold(*times, |count, (at, scalar)| {
                    let word = structure
                        .get(*at..)
                        .map_or(0, |rest| scalar.read(&rest[..scalar.size().min(rest.len())]));
                    let value = scalar.integer(word).and_then(|value| u64::try_from(value).ok());
                    count.saturating_mul(value.unwrap_or(0))
                });
                let bytes = count.saturating_mul(*width as u64);
                if bytes > self.limits.outputs {
                    let what = format!("has a member of {bytes} bytes, more than {}", self.limits.outputs);
                    return Err(self.function.about(CallFault::TooLong, index, &what));
                }
                bytes as usize
            }
        };
        // SAFETY: the library left this pointer in a structure, for a text that was scanned to its end or for as many
        // elements as the structure says. If that is a lie, this faults in the call that lied.
        put(output, Some(unsafe { slice::from_raw_parts(address as *const u8, length) }))
    }

    /// Appends a list of texts as bytes that hold the bytes of each.
    pub(super) fn write_texts(
        &self,
        address: usize,
        count: Option<u64>,
        index: Option<usize>,
        output: &mut Vec<u8>,
    ) -> Result<(), CallError> {
        if address == 0 {
            return put(output, None);
        }
        let (list, mut texts, mut at) = (address as *const *const c_char, Vec::new(), 0);
        while count.is_none_or(|count| at < count) {
            // SAFETY: the library says that there are so many pointers, or that NULL follows the last.
            let text = unsafe { *list.add(at as usize) } as usize;
            match (text, count) {
                (0, None) => break,
                (0, Some(_)) => put(&mut texts, None)?,
                (text, _) => {
                    let length = self.text_length(text, index)?;
                    // SAFETY: the text was scanned to its end.
                    put(&mut texts, Some(unsafe { slice::from_raw_parts(text as *const u8, length) }))?;
                }
            }
            if texts.len() as u64 > self.limits.outputs {
                let what = format!("has texts of more than {} bytes", self.limits.outputs);
                return Err(self.function.about(CallFault::TooLong, index, &what));
            }
            at += 1;
        }
        put(output, Some(&texts))
    }
}
