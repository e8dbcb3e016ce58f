//! From the values of a CALL to the arguments of the C function. Every check that can fail before the
//! call is made here, so that a refused call has no effect.

use super::arena::Arena;
use super::function::{Function, Step};
use super::handles::Handles;
use super::rows;
use crate::fault::{CallError, CallFault};
use crate::limits::WorkerLimits;
use crate::plan::{Buffer, By, Direction, MAX_PARAMETERS, Measure, Size};
use crate::scalar::Scalar;
use crate::value::{Reader, ValueError};

/// The arguments of the running call, kept between calls so that none of this is allocated.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// What C gets: scalars, or addresses.
    pub(super) words: [u64; MAX_PARAMETERS],
    /// Bytes that were placed for a parameter.
    pub(super) room: [usize; MAX_PARAMETERS],
    /// Bit per parameter: has memory in the arena.
    pub(super) placed: u32,
    /// Most elements that a pointer of the library may lead to, per parameter that gets one.
    pub(super) bounds: [Option<u64>; MAX_PARAMETERS],
    /// The same for the return value.
    pub(super) return_bound: Option<u64>,
    pub(super) given: [Option<Span>; MAX_PARAMETERS],
    /// What the pointers of structures lead to, by parameter, in their order.
    pub(super) targets: Vec<(usize, Option<Span>)>,
    /// Copies that outlive the call, by parameter.
    pub(super) copies: Vec<(usize, usize)>,
    /// Callbacks that end with the call, by parameter: their slots.
    pub(super) callbacks: Vec<(usize, usize)>,
}

/// Where the content of an input lies in the payload of CALL.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) length: usize,
}

impl Arguments {
    /// Reads the payload. Nothing is placed yet: sizes may depend on values that come later.
    pub(super) fn read(
        &mut self,
        function: &Function,
        handles: &Handles,
        payload: &[u8],
    ) -> Result<(), CallError> {
        self.placed = 0;
        self.targets.clear();
        let mut reader = Reader::new(payload);
        for (index, step) in function.steps.iter().enumerate() {
            match step {
                Step::Value(scalar) => {
                    self.words[index] = scalar.normalise(reader.word().map_err(malformed)?);
                }
                Step::Handle { tag, .. } => {
                    let handle = reader.word().map_err(malformed)?;
                    self.words[index] = handles.address(*tag, handle)? as u64;
                }
                Step::Buffer(Buffer { direction: Direction::In | Direction::InOut, element, .. }) => {
                    let bytes = reader.bytes().map_err(malformed)?;
                    if bytes.is_some_and(|bytes| bytes.len() % element.size() != 0) {
                        return Err(function.about(CallFault::Malformed, index, "ends inside an element"));
                    }
                    self.given[index] = bytes.map(|bytes| Span::inside(payload, bytes));
                }
                Step::Structures(_) | Step::StructureValue(_) | Step::Texts { .. } | Step::Kept { .. } => {
                    self.read_more(function, index, (&mut reader, payload))?;
                }
                Step::Buffer(Buffer { direction: Direction::Out, .. })
                | Step::Length { .. }
                | Step::Indirect(_)
                | Step::IndirectTexts(_)
                | Step::NewHandle { .. }
                | Step::Callback(_)
                | Step::Rows => {}
            }
        }
        reader.end().map_err(malformed)?;
        self.return_bound = self.size(function, None, function.return_size(), payload)?;
        Ok(())
    }

    /// Lays out everything that is passed by pointer.
    pub(super) fn place(
        &mut self,
        function: &Function,
        arena: &mut Arena,
        limits: &WorkerLimits,
        payload: &[u8],
    ) -> Result<(), CallError> {
        let mut outputs = 0;
        for (index, step) in function.steps.iter().enumerate() {
            match step {
                Step::Value(_) | Step::Handle { .. } | Step::Length { .. } => {}
                Step::Buffer(buffer) => {
                    let size = self.size(function, index, buffer.size, payload)?;
                    let room = self.room_for(function, index, buffer, size)?;
                    outputs += if buffer.direction == Direction::In { 0 } else { room as u64 };
                    check_outputs(function, index, (outputs, limits))?;
                    self.place_buffer(function, arena, (index, buffer, room), payload)?;
                }
                Step::Structures(_)
                | Step::StructureValue(_)
                | Step::Texts { .. }
                | Step::Kept { .. }
                | Step::Callback(_) => {
                    outputs += self.place_more(function, arena, (index, limits), payload)?;
                    check_outputs(function, index, (outputs, limits))?;
                }
                Step::Indirect(pointee) => {
                    self.bounds[index] = self.size(function, index, pointee.size, payload)?;
                    self.place_bytes(function, arena, index, &0_usize.to_ne_bytes())?;
                }
                Step::Rows => {
                    rows::start(limits.outputs);
                    self.words[index] = rows::address();
                }
                Step::NewHandle { .. } | Step::IndirectTexts(_) => {
                    self.place_bytes(function, arena, index, &0_usize.to_ne_bytes())?;
                }
            }
        }
        self.place_lengths(function, arena)
    }

    /// Elements that C finds at a buffer: the content of an input, the capacity of an output.
    fn count(&self, function: &Function, index: usize) -> u64 {
        match &function.steps[index] {
            Step::Buffer(Buffer { direction: Direction::In, element, .. }) => {
                self.given_count(index, *element)
            }
            Step::Buffer(buffer) => (self.room[index] / buffer.element.size()) as u64,
            Step::Structures(structures) => (self.room[index] / structures.one.size) as u64,
            Step::Texts { .. } => (self.room[index] / size_of::<usize>()) as u64,
            Step::Kept { element, .. } => self.given_count(index, *element),
            _ => 0,
        }
    }

    fn given_count(&self, index: usize, element: Scalar) -> u64 {
        self.given[index].map_or(0, |given| (given.length / element.size()) as u64)
    }

    /// Bytes to place for a buffer, once its size is known and its content fits.
    fn room_for(
        &self,
        function: &Function,
        index: usize,
        buffer: &Buffer,
        size: Option<u64>,
    ) -> Result<usize, CallError> {
        let content = match buffer.direction {
            Direction::In | Direction::InOut => self.given_count(index, buffer.element),
            Direction::Out => 0,
        };
        let terminator = u64::from(buffer.terminated && buffer.direction != Direction::Out);
        let elements = self.elements(function, index, buffer.direction, (content, terminator, size))?;
        Ok((elements as usize).saturating_mul(buffer.element.size()))
    }

    /// How many elements are placed, once the content fits a size.
    pub(super) fn elements(
        &self,
        function: &Function,
        index: usize,
        direction: Direction,
        (content, terminator, size): (u64, u64, Option<u64>),
    ) -> Result<u64, CallError> {
        match (direction, size) {
            (Direction::In, Some(exact)) if exact != content && self.given[index].is_some() => {
                let what = format!("must have exactly {exact} elements, it has {content}");
                Err(function.about(CallFault::OutOfRange, index, &what))
            }
            (Direction::InOut, Some(capacity)) if capacity < content + terminator => {
                let what =
                    format!("has room for {capacity} elements, its content needs {}", content + terminator);
                Err(function.about(CallFault::OutOfRange, index, &what))
            }
            (Direction::In, _) | (_, None) => Ok(content + terminator),
            (_, Some(capacity)) => Ok(capacity),
        }
    }

    /// A size expression, with the values of this call.
    pub(super) fn size(
        &self,
        function: &Function,
        index: impl Into<Option<usize>>,
        size: Option<Size>,
        payload: &[u8],
    ) -> Result<Option<u64>, CallError> {
        let (measure, times, plus) = match size {
            None => return Ok(None),
            Some(Size::Fixed(elements)) => return Ok(Some(elements)),
            Some(Size::Of { measure, times, plus }) => (measure, times, plus),
        };
        let value = self.measure(function, measure, payload);
        let elements = (value as f64 * times).ceil() + plus as f64;
        // Beyond 2^53 the arithmetic is not exact, and no buffer is that large.
        if !(0.0..9e15).contains(&elements) {
            let what = format!("cannot have {elements} elements");
            return Err(function.about(CallFault::OutOfRange, index, &what));
        }
        Ok(Some(elements as u64))
    }

    fn measure(&self, function: &Function, measure: Measure, payload: &[u8]) -> i128 {
        let (Measure::Value(index) | Measure::Count(index)) = measure;
        match (measure, &function.steps[index]) {
            (Measure::Value(_), Step::Value(scalar)) => scalar.integer(self.words[index]).unwrap_or(0),
            (Measure::Value(_), Step::Buffer(buffer)) => {
                let given =
                    self.given[index].map_or(&[][..], |given| &payload[given.start..][..given.length]);
                buffer.element.integer(buffer.element.read(given)).unwrap_or(0)
            }
            (Measure::Count(_), Step::Buffer(buffer)) => i128::from(self.given_count(index, buffer.element)),
            (Measure::Count(_), Step::Structures(structures)) => {
                self.given[index].map_or(0, |given| (given.length / structures.one.size) as i128)
            }
            // Compiling refuses every other measure.
            _ => 0,
        }
    }

    fn place_buffer(
        &mut self,
        function: &Function,
        arena: &mut Arena,
        (index, buffer, room): (usize, &Buffer, usize),
        payload: &[u8],
    ) -> Result<(), CallError> {
        if buffer.direction != Direction::Out && self.given[index].is_none() {
            self.words[index] = 0;
            self.room[index] = 0;
            return Ok(());
        }
        let start = self.reserve(function, arena, index, room)?;
        let content = match self.given[index] {
            Some(given) if buffer.direction != Direction::Out => &payload[given.start..][..given.length],
            _ => &[],
        };
        // SAFETY: `reserve` made `room` bytes, and `room_for` made sure that the content fits in them.
        unsafe {
            start.copy_from_nonoverlapping(content.as_ptr(), content.len());
            start.add(content.len()).write_bytes(0, room - content.len());
        }
        Ok(())
    }

    fn place_lengths(&mut self, function: &Function, arena: &mut Arena) -> Result<(), CallError> {
        for (index, step) in function.steps.iter().enumerate() {
            let Step::Length { of, scalar, by } = step else { continue };
            let count = self.count(function, *of);
            if scalar.range().is_some_and(|(_, high)| i128::from(count) > high) {
                let what = format!(
                    "has {count} elements, more than the type of `{}` can say",
                    function.names[index]
                );
                return Err(function.about(CallFault::OutOfRange, *of, &what));
            }
            match by {
                By::Value => self.words[index] = count,
                By::Start => self.words[index] = self.words[*of],
                By::End => {
                    let room = self.given[*of].map_or(self.room[*of], |given| given.length);
                    self.words[index] = if self.words[*of] == 0 { 0 } else { self.words[*of] + room as u64 };
                }
                By::Pointer => {
                    self.place_bytes(function, arena, index, &count.to_le_bytes()[..scalar.size()])?;
                }
            }
        }
        Ok(())
    }

    fn place_bytes(
        &mut self,
        function: &Function,
        arena: &mut Arena,
        index: usize,
        bytes: &[u8],
    ) -> Result<(), CallError> {
        let start = self.reserve(function, arena, index, bytes.len())?;
        // SAFETY: `reserve` made room for exactly these bytes.
        unsafe { start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    pub(super) fn reserve(
        &mut self,
        function: &Function,
        arena: &mut Arena,
        index: usize,
        room: usize,
    ) -> Result<*mut u8, CallError> {
        let start = arena.place(index, room).map_err(|error| {
            function.about(CallFault::NoMemory, index, &format!("needs {room} bytes: {error}"))
        })?;
        self.words[index] = start as u64;
        self.room[index] = room;
        self.placed |= 1 << index;
        Ok(start)
    }
}

impl Span {
    pub(super) fn inside(payload: &[u8], bytes: &[u8]) -> Self {
        Self { start: bytes.as_ptr() as usize - payload.as_ptr() as usize, length: bytes.len() }
    }
}

/// Fails where outputs are larger than they may be.
pub(super) fn check_outputs(
    function: &Function,
    index: usize,
    (outputs, limits): (u64, &WorkerLimits),
) -> Result<(), CallError> {
    if outputs <= limits.outputs {
        return Ok(());
    }
    let what = format!("makes the outputs larger than {} bytes", limits.outputs);
    Err(function.about(CallFault::OutOfRange, index, &what))
}

fn malformed(error: ValueError) -> CallError {
    CallFault::Malformed.because(error.to_string())
}
