//! From what the C function left behind to the values of a RESULT. The library is not believed: lengths
//! are compared with what was placed, strings are scanned with a bound.

use std::ffi::c_void;
use std::slice;

use super::arena::Arena;
use super::arguments::Arguments;
use super::callbacks;
use super::function::{Free, Function, Pointee, Returned, Step, StructurePointee, TextList};
use super::handles::Handles;
use super::rows;
use crate::fault::{CallError, CallFault};
use crate::limits::WorkerLimits;
use crate::plan::{Buffer, By, Direction, Length};
use crate::sandbox::denials;
use crate::scalar::Scalar;
use crate::value::{ValueError, put_bytes, put_errno, put_word};

/// One call that has returned.
pub(super) struct Results<'a> {
    pub(super) function: &'a Function,
    pub(super) arguments: &'a Arguments,
    pub(super) limits: &'a WorkerLimits,
    /// The 8 bytes of the return value.
    pub(super) returned: u64,
    pub(super) errno: i32,
}

impl Results<'_> {
    /// Fails if the library wrote in front of a buffer.
    pub(super) fn check_canaries(&self, arena: &Arena) -> Result<(), CallError> {
        let mut placed = self.arguments.placed;
        while placed != 0 {
            let index = placed.trailing_zeros() as usize;
            if !arena.is_intact(index) {
                let what = "was written in front of its start";
                return Err(self.function.about(CallFault::MemorySmashed, index, what));
            }
            placed &= placed - 1;
        }
        Ok(())
    }

    /// Appends the return value, the outputs in order and `errno`.
    pub(super) fn write(&self, handles: &mut Handles, output: &mut Vec<u8>) -> Result<(), CallError> {
        match &self.function.returns {
            Returned::Void => {}
            Returned::Value(scalar) => put_word(output, scalar.normalise(self.returned)),
            Returned::Handle(tag) => put_word(output, handles.open(*tag, self.returned as usize)),
            Returned::Pointer(pointee) => {
                self.write_pointee(pointee, self.returned as usize, None, output)?;
            }
            Returned::Structure(one) => {
                // SAFETY: the return value is this structure, at this address until the next call.
                let bytes = unsafe { slice::from_raw_parts(self.returned as *const u8, one.size) };
                self.write_structures(one, (bytes, None), output)?;
            }
            Returned::Structures(pointee) => self.write_structure_pointee(pointee, output)?,
            Returned::Texts(list) => {
                self.write_text_list(*list, self.returned as usize, None, output)?;
            }
        }
        if self.function.places {
            for index in 0..self.function.steps.len() {
                self.write_output(index, handles, output)?;
            }
        }
        if self.function.errno {
            put_errno(output, self.errno);
            put_denials(output)?;
        }
        if let Some(explanation) = &self.function.explanation {
            self.write_explanation(explanation, output)?;
        }
        Ok(())
    }

    fn write_output(
        &self,
        index: usize,
        handles: &mut Handles,
        output: &mut Vec<u8>,
    ) -> Result<(), CallError> {
        match &self.function.steps[index] {
            Step::Value(_)
            | Step::Handle { .. }
            | Step::StructureValue(_)
            | Step::Texts { .. }
            | Step::Kept { .. }
            | Step::Length { by: By::Value | By::Start | By::End, .. }
            | Step::Buffer(Buffer { direction: Direction::In, .. }) => Ok(()),
            Step::Structures(structures) if structures.direction == Direction::In => Ok(()),
            Step::Structures(_) | Step::Buffer(_) if self.arguments.words[index] == 0 => put(output, None),
            Step::Structures(structures) => {
                let memory = self.memory(index);
                let capacity = (memory.len() / structures.one.size) as u64;
                let count = self.length(structures.length).unwrap_or(capacity);
                match (count <= capacity, structures.length) {
                    (true, _) => {
                        let bytes = &memory[..count as usize * structures.one.size];
                        self.write_structures(&structures.one, (bytes, Some(index)), output)
                    }
                    (false, Length::ReturnIfFits) => put(output, None),
                    (false, _) => Err(self.lie(Some(index), count, capacity)),
                }
            }
            Step::IndirectTexts(list) => {
                self.write_text_list(*list, self.pointer(index), Some(index), output)
            }
            Step::Callback(callback) if callback.listener.is_some() => Ok(()),
            Step::Callback(_) => {
                let slot = self.arguments.callbacks.iter().find(|(own, _)| *own == index);
                put(output, slot.map(|(_, slot)| callbacks::take(*slot)).as_deref())
            }
            Step::Length { by: By::Pointer, .. } => put(output, Some(self.memory(index))),
            Step::Buffer(buffer) => put(output, self.valid(index, buffer)?),
            Step::Indirect(pointee) => self.write_pointee(pointee, self.pointer(index), Some(index), output),
            Step::Rows => put(output, Some(&rows::take())),
            Step::NewHandle { tag } => {
                put_word(output, handles.open(*tag, self.pointer(index)));
                Ok(())
            }
        }
    }

    /// The part of an output buffer that the function filled; nothing if what it returned is no length.
    fn valid(&self, index: usize, buffer: &Buffer) -> Result<Option<&[u8]>, CallError> {
        let memory = self.memory(index);
        let Some(elements) = self.length(buffer.length) else {
            let end = match buffer.length {
                Length::Nul => memory.iter().position(|byte| *byte == 0),
                Length::All | Length::Return | Length::ReturnIfFits | Length::Parameter(_) => None,
            };
            return Ok(Some(&memory[..end.unwrap_or(memory.len())]));
        };
        let capacity = (memory.len() / buffer.element.size()) as u64;
        if elements > capacity {
            let is_code = buffer.length == Length::ReturnIfFits;
            return if is_code { Ok(None) } else { Err(self.lie(Some(index), elements, capacity)) };
        }
        Ok(Some(&memory[..elements as usize * buffer.element.size()]))
    }

    /// Copies memory of the library and gives it back, whether or not it could be copied.
    fn write_pointee(
        &self,
        pointee: &Pointee,
        address: usize,
        index: Option<usize>,
        output: &mut Vec<u8>,
    ) -> Result<(), CallError> {
        if address == 0 {
            return put(output, None);
        }
        let copied = self.pointee_bytes(pointee, address, index).and_then(|length| {
            // SAFETY: the library returned this address for a string that was scanned to its end, or for
            // as many elements as the plan and the library say. If that is a lie, this faults, and the
            // worker dies in the call that lied.
            put(output, Some(unsafe { slice::from_raw_parts(address as *const u8, length) }))
        });
        give_back(pointee.free, address);
        copied
    }

    /// Copies structures of the library and gives them back.
    fn write_structure_pointee(
        &self,
        pointee: &StructurePointee,
        output: &mut Vec<u8>,
    ) -> Result<(), CallError> {
        let address = self.returned as usize;
        if address == 0 {
            return put(output, None);
        }
        let count = self.length(pointee.length).or(self.arguments.return_bound).unwrap_or(1);
        let bytes = count.saturating_mul(pointee.one.size as u64);
        let copied = if bytes > self.limits.outputs {
            let what = format!("has {bytes} bytes, more than {}", self.limits.outputs);
            Err(self.function.about(CallFault::TooLong, None, &what))
        } else {
            // SAFETY: the library returned this address for as many structures as the plan and it say.
            let bytes = unsafe { slice::from_raw_parts(address as *const u8, bytes as usize) };
            self.write_structures(&pointee.one, (bytes, None), output)
        };
        give_back(pointee.free, address);
        copied
    }

    fn write_text_list(
        &self,
        list: TextList,
        address: usize,
        index: Option<usize>,
        output: &mut Vec<u8>,
    ) -> Result<(), CallError> {
        let written = self.write_texts(address, self.length(list.length), index, output);
        if address != 0 {
            give_back(list.free, address);
        }
        written
    }

    fn pointee_bytes(
        &self,
        pointee: &Pointee,
        address: usize,
        index: Option<usize>,
    ) -> Result<usize, CallError> {
        let size = index.map_or(self.arguments.return_bound, |index| self.arguments.bounds[index]);
        let elements = match (pointee.length, self.length(pointee.length), size) {
            (Length::Nul, ..) => return self.scan(address, index, size),
            (_, Some(elements), Some(size)) if elements > size => return Err(self.lie(index, elements, size)),
            (_, Some(elements), _) | (_, None, Some(elements)) => elements,
            (_, None, None) => 0,
        };
        let bytes = elements.saturating_mul(pointee.element.size() as u64);
        if bytes > self.limits.outputs {
            let limit = self.limits.outputs;
            return Err(self.function.about(
                CallFault::TooLong,
                index,
                &format!("has {bytes} bytes, more than {limit}"),
            ));
        }
        Ok(bytes as usize)
    }

    /// The length of a text that a list or a structure leads to.
    pub(super) fn text_length(&self, address: usize, index: Option<usize>) -> Result<usize, CallError> {
        self.scan(address, index, None)
    }

    /// The length of a string, never looking further than the limit.
    fn scan(&self, address: usize, index: Option<usize>, size: Option<u64>) -> Result<usize, CallError> {
        let limit = self.limits.text;
        let bound = size.unwrap_or(u64::MAX).min(limit.saturating_add(1)) as usize;
        // SAFETY: the library returned this address for a string; `strnlen` stops at its NUL or the bound.
        let length = unsafe { libc::strnlen(address as *const libc::c_char, bound) };
        if length as u64 > limit {
            return Err(self.function.about(
                CallFault::TooLong,
                index,
                &format!("has no end within {limit} bytes"),
            ));
        }
        Ok(length)
    }

    /// The number that a length names; nothing if it names none. Below zero is empty.
    pub(super) fn length(&self, length: Length) -> Option<u64> {
        let value = match length {
            Length::Nul | Length::All => return None,
            Length::Return | Length::ReturnIfFits => match self.function.returns {
                Returned::Value(scalar) => scalar.integer(scalar.normalise(self.returned)),
                Returned::Void
                | Returned::Pointer(_)
                | Returned::Handle(_)
                | Returned::Structure(_)
                | Returned::Structures(_)
                | Returned::Texts(_) => None,
            },
            Length::Parameter(index) => self.integer(index),
        };
        Some(value.map_or(0, |value| u64::try_from(value.max(0)).unwrap_or(u64::MAX)))
    }

    /// The value of an integer parameter after the call.
    fn integer(&self, index: usize) -> Option<i128> {
        let pointed = |scalar: Scalar| scalar.integer(scalar.read(self.memory(index)));
        match &self.function.steps[index] {
            Step::Value(scalar) | Step::Length { scalar, by: By::Value, .. } => {
                scalar.integer(self.arguments.words[index])
            }
            Step::Length { scalar, by: By::Pointer, .. } => pointed(*scalar),
            Step::Buffer(buffer) => pointed(buffer.element),
            Step::Length { by: By::Start | By::End, .. }
            | Step::Indirect(_)
            | Step::Handle { .. }
            | Step::NewHandle { .. }
            | Step::Rows
            | Step::Structures(_)
            | Step::StructureValue(_)
            | Step::Texts { .. }
            | Step::IndirectTexts(_)
            | Step::Callback(_)
            | Step::Kept { .. } => None,
        }
    }

    pub(super) fn pointer(&self, index: usize) -> usize {
        self.memory(index).first_chunk().map_or(0, |bytes| usize::from_ne_bytes(*bytes))
    }

    /// What was placed for a parameter, as the function left it.
    pub(super) fn memory(&self, index: usize) -> &[u8] {
        if self.arguments.placed >> index & 1 == 0 {
            return &[];
        }
        // SAFETY: the bit says that `words` is the start of `room` bytes in the arena, which stay mapped
        // until the next call.
        unsafe { slice::from_raw_parts(self.arguments.words[index] as *const u8, self.arguments.room[index]) }
    }

    fn lie(&self, index: Option<usize>, reported: u64, capacity: u64) -> CallError {
        let what = format!("holds {capacity} elements, the library reported {reported}");
        self.function.about(CallFault::BadLength, index, &what)
    }
}

/// Gives memory back to the library that it came from.
fn give_back(free: Option<Free>, address: usize) {
    if let Some(free) = free {
        // SAFETY: the plan says that the caller owns the memory and that this function releases it.
        unsafe { free(address as *mut c_void) };
    }
}

/// JSON only where something was refused: in most calls nothing is.
fn put_denials(output: &mut Vec<u8>) -> Result<(), CallError> {
    let denials = denials();
    if denials.is_empty() {
        return put(output, None);
    }
    let json = serde_json::to_vec(&denials).map_err(|error| CallFault::TooLong.because(error.to_string()))?;
    put(output, Some(&json))
}

pub(super) fn put(output: &mut Vec<u8>, bytes: Option<&[u8]>) -> Result<(), CallError> {
    put_bytes(output, bytes).map_err(|error: ValueError| CallFault::TooLong.because(error.to_string()))
}
