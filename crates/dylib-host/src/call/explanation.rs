//! The reason of a failure, given by another function of the library right after the call.

use std::ffi::{c_char, c_void};
use std::slice;

use super::function::{Returned, Step};
use super::results::{Results, put};
use crate::fault::CallError;
use crate::plan::{self, Buffer, Condition, ExplanationOf, Length};

/// How much of a reason is copied, in bytes.
const MOST_TEXT: usize = 4_096;

/// Numbers and pointers arrive in the same registers, and arguments that a function does not take are ignored.
type Explain = unsafe extern "C" fn(u64) -> *const c_void;

/// A function that gives the reason of a failure, ready to be called.
#[derive(Debug)]
pub(super) struct Explanation {
    explain: Explain,
    of: ExplanationOf,
    indirect: bool,
    success: Condition,
}

impl Explanation {
    pub(super) fn new(plan: &plan::Explanation, code: *mut c_void) -> Self {
        // SAFETY: the plan vouches that this symbol is a function that takes at most one number or pointer.
        let explain = unsafe { std::mem::transmute::<*mut c_void, Explain>(code) };
        Self { explain, of: plan.of, indirect: plan.indirect, success: plan.success.clone() }
    }
}

impl Results<'_> {
    /// Appends the reason, or NULL if the call succeeded or the library gives none.
    pub(super) fn write_explanation(
        &self,
        explanation: &Explanation,
        output: &mut Vec<u8>,
    ) -> Result<(), CallError> {
        let subject = self.subject(explanation.of);
        let is_unknown = subject.is_none();
        if is_unknown || self.is_met(&explanation.success) {
            return put(output, None);
        }
        // SAFETY: the plan says what the function takes; it returns NULL or a pointer to a C string, or to a structure
        // that begins with one.
        let text = unsafe {
            let returned = (explanation.explain)(subject.unwrap_or_default());
            if explanation.indirect && !returned.is_null() {
                *returned.cast::<*const c_char>()
            } else {
                returned.cast::<c_char>()
            }
        };
        if text.is_null() {
            return put(output, None);
        }
        // SAFETY: as above; `strnlen` stops at the NUL or the bound.
        let bytes = unsafe { slice::from_raw_parts(text.cast::<u8>(), libc::strnlen(text, MOST_TEXT)) };
        put(output, Some(bytes))
    }

    /// What the function that explains is called with; nothing for an object that was not made.
    fn subject(&self, of: ExplanationOf) -> Option<u64> {
        match of {
            ExplanationOf::Nothing => Some(0),
            ExplanationOf::Return => Some(self.returned),
            ExplanationOf::Parameter(index) => match &self.function.steps[index] {
                Step::NewHandle { .. } => Some(self.pointer(index) as u64).filter(|address| *address != 0),
                Step::Handle { .. } => Some(self.arguments.words[index]).filter(|address| *address != 0),
                Step::Value(_)
                | Step::Buffer(_)
                | Step::Length { .. }
                | Step::Indirect(_)
                | Step::Rows
                | Step::Structures(_)
                | Step::StructureValue(_)
                | Step::Texts { .. }
                | Step::IndirectTexts(_)
                | Step::Callback(_)
                | Step::Kept { .. } => Some(self.arguments.words[index]),
            },
        }
    }

    fn is_met(&self, success: &Condition) -> bool {
        let value = match &self.function.returns {
            Returned::Value(scalar) => scalar.integer(scalar.normalise(self.returned)).unwrap_or(0),
            Returned::Pointer(_) | Returned::Handle(_) | Returned::Structures(_) | Returned::Texts(_) => {
                i128::from(self.returned)
            }
            Returned::Void | Returned::Structure(_) => return true,
        };
        match success {
            Condition::OneOf(good) => good.iter().any(|good| i128::from(*good) == value),
            Condition::IsNot(bad) => value != i128::from(*bad),
            Condition::Above(bound) => value > i128::from(*bound),
            Condition::AtLeast(bound) => value >= i128::from(*bound),
            Condition::NonNull => value != 0,
            Condition::Fits => self.fits(),
        }
    }

    fn fits(&self) -> bool {
        let length = self.length(Length::Return).unwrap_or(0);
        self.function.steps.iter().enumerate().all(|(index, step)| match step {
            Step::Buffer(Buffer { length: Length::ReturnIfFits, element, .. }) => {
                length <= (self.memory(index).len() / element.size()) as u64
            }
            _ => true,
        })
    }
}
