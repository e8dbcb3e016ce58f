//! Why a call gave no result: the number in a FAIL frame and the text that goes with it.

use thiserror::Error;

/// What kind of failure it was. The numbers are those of FAIL's `arg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum CallFault {
    /// No such function, or it was refused at load time.
    UnknownFunction = 1,
    /// The payload of CALL does not fit the plan.
    Malformed = 2,
    /// A size, count or length cannot be right.
    OutOfRange = 3,
    /// Closed, of another kind, or of an earlier worker.
    BadHandle = 4,
    /// As many objects are open as may be.
    TooManyHandles = 5,
    /// No memory for the buffers of this call.
    NoMemory = 6,
    /// The result is over a limit.
    TooLong = 7,
    /// The library reported more elements than the buffer holds.
    BadLength = 8,
    /// The library wrote in front of a buffer.
    MemorySmashed = 9,
    /// The library cannot be loaded. Answers HELLO.
    LoadFailed = 10,
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text}")]
pub struct CallError {
    pub fault: CallFault,
    pub text: String,
}

impl CallFault {
    const ALL: [Self; 10] = [
        Self::UnknownFunction,
        Self::Malformed,
        Self::OutOfRange,
        Self::BadHandle,
        Self::TooManyHandles,
        Self::NoMemory,
        Self::TooLong,
        Self::BadLength,
        Self::MemorySmashed,
        Self::LoadFailed,
    ];

    /// Whether the function ran all the same: what it was told to close is closed.
    pub const fn has_run(self) -> bool {
        matches!(self, Self::TooLong | Self::BadLength | Self::MemorySmashed)
    }

    pub const fn number(self) -> u16 {
        self as u16
    }

    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.number() == number)
    }

    /// After such a fault the library's memory cannot be trusted, and a worker ends by itself.
    pub const fn ends_worker(self) -> bool {
        match self {
            Self::BadLength | Self::MemorySmashed | Self::LoadFailed => true,
            Self::UnknownFunction
            | Self::Malformed
            | Self::OutOfRange
            | Self::BadHandle
            | Self::TooManyHandles
            | Self::NoMemory
            | Self::TooLong => false,
        }
    }

    pub(crate) fn because(self, text: impl Into<String>) -> CallError {
        CallError { fault: self, text: text.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_leads_back_to_its_fault() {
        for fault in CallFault::ALL {
            assert_eq!(CallFault::from_number(fault.number()), Some(fault));
        }
        assert_eq!(CallFault::from_number(0), None);
        assert_eq!(CallFault::from_number(11), None);
    }
}
