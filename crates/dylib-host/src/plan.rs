//! What the worker is told about a library: C terms only, no JSON types, no names that a model sees
//! except to word an error. The document becomes a plan in the OpenDyn source, never here.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::callback::Callback;
use crate::limits::WorkerLimits;
use crate::scalar::Scalar;
use crate::structure::{Structure, StructurePointee, Structures, TextList};

/// Most parameters a function may have.
pub const MAX_PARAMETERS: usize = 32;

/// One library and the functions to call in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// A path, or a bare file name that the system's loader would find.
    pub library: String,
    /// Stands in the upper half of every handle, so that handles of an earlier worker are refused.
    pub generation: u32,
    pub limits: WorkerLimits,
    /// Called by their index.
    pub functions: Vec<CFunction>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CFunction {
    pub symbol: String,
    /// The symbol is a variable that is read; `returns` says what it is.
    pub variable: Option<VariableIs>,
    pub parameters: Vec<CParameter>,
    pub returns: CReturn,
    /// Parameters before `...` of a variadic function.
    pub fixed_parameters: Option<usize>,
    /// Ends every RESULT with the `errno` that the call left behind, and with what the sandbox refused meanwhile.
    pub errno: bool,
    /// What gives the reason of a failure. RESULT then ends with its text, NULL after a success.
    pub explanation: Option<Explanation>,
}

/// A function of the library that gives the reason of the last failure as a text (`sqlite3_errmsg`). It is called
/// right after the function that failed: a call of somebody else between the two could replace the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    pub symbol: String,
    pub of: ExplanationOf,
    /// It returns a pointer to a structure that begins with a pointer to the text (`git_error_last`).
    pub indirect: bool,
    pub success: Condition,
}

/// What the function that explains a failure takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExplanationOf {
    Nothing,
    /// A scalar, a handle, or a handle that the call made.
    Parameter(usize),
    /// The value that the failed function returned.
    Return,
}

/// What of a variable is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VariableIs {
    Value,
    /// For an object that the library has in place: functions take a pointer to it.
    Address,
}

/// Which returned values mean success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    OneOf(Vec<i64>),
    IsNot(i64),
    Above(i64),
    AtLeast(i64),
    NonNull,
    /// The value fits every output whose length is [`Length::ReturnIfFits`].
    Fits,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CParameter {
    /// Only to word errors.
    pub name: String,
    pub pass: Pass,
}

/// How one C argument is made. Says too whether it takes a value from CALL and gives one to RESULT.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// By value. CALL: a scalar.
    Value(Scalar),
    /// A copy in guarded memory. CALL: bytes unless it is an output. RESULT: bytes unless it is an input.
    Buffer(Buffer),
    /// Filled by us with the element count of an input, or the capacity of an output. CALL: nothing.
    Length { of: usize, scalar: Scalar, by: By },
    /// The function writes a pointer of its own here (`char **`). CALL: nothing. RESULT: bytes.
    Indirect(Pointee),
    /// An object made earlier. CALL: a handle.
    Handle { tag: String, closes: bool },
    /// The function writes a pointer to a new object here (`T **`). CALL: nothing. RESULT: a handle.
    NewHandle { tag: String },
    /// A callback of ours that collects rows: `int (*)(void *, int, char **, char **)`. CALL: nothing. RESULT: bytes,
    /// for each row the number of its columns, then name and value of each.
    Rows,
    /// Structures by pointer.
    Structures(Structures),
    /// A structure by value. CALL: bytes, then the targets of its pointers.
    StructureValue(Structure),
    /// Pointers to texts (`char **`). CALL: bytes that hold the bytes of each text.
    Texts {
        /// NULL follows the last one.
        terminated: bool,
    },
    /// The function writes a pointer to texts here (`char ***`). CALL: nothing. RESULT: bytes that hold the bytes of each.
    IndirectTexts(TextList),
    /// CALL: nothing. RESULT: bytes, unless it listens.
    Callback(Callback),
    /// A copy that lives as long as an object, for functions that keep the pointer. CALL: bytes.
    Kept { element: Scalar, terminated: bool, of: KeptFor },
}

/// The object with which a copy ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptFor {
    Parameter(usize),
    /// The one that the function returns.
    Return,
}

/// Whether a length is an argument itself or is pointed to; then it is read after the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    Value,
    /// RESULT: bytes, one element.
    Pointer,
    /// Not a number, but a pointer to the end of the buffer.
    End,
    /// A pointer to its start, once more.
    Start,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Buffer {
    pub element: Scalar,
    pub direction: Direction,
    /// A NUL that is not counted follows the content.
    pub terminated: bool,
    /// Input: the exact count. Otherwise the capacity; an in-out without it is as large as its content.
    pub size: Option<Size>,
    /// How much of it is valid after the call. Without meaning for an input.
    pub length: Length,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    In,
    Out,
    InOut,
}

/// A number of elements.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    Fixed(u64),
    /// `ceil(measure * times) + plus`
    Of {
        measure: Measure,
        times: f64,
        plus: i64,
    },
}

/// What a size is computed from, by the index of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// An integer: the argument itself, or the first element of an input.
    Value(usize),
    /// How many elements an input has; none if it is NULL.
    Count(usize),
}

/// Where the number of valid elements comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// Up to the first NUL, which is left out.
    Nul,
    /// All that `size` says.
    All,
    /// The value that the function returned.
    Return,
    /// The same, where a value that does not fit is an error code and the buffer holds nothing. RESULT: NULL then.
    ReturnIfFits,
    /// The value of an integer parameter after the call.
    Parameter(usize),
}

/// Memory of the library that a pointer leads to; it is copied, then given back if `free` says how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pointee {
    pub element: Scalar,
    /// Needed unless `length` is [`Length::Nul`] or a parameter. With both, a larger length is a lie.
    pub size: Option<Size>,
    pub length: Length,
    /// `free` means that of the C library, anything else a symbol of this library.
    pub free: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CReturn {
    /// RESULT has no value.
    Void,
    /// RESULT: a scalar.
    Value(Scalar),
    /// RESULT: the bytes pointed to.
    Pointer(Pointee),
    /// RESULT: a handle.
    Handle { tag: String },
    /// By value. RESULT: bytes, then the targets of its pointers.
    Structure(Structure),
    /// RESULT: the same for those pointed to.
    Structures(StructurePointee),
    /// RESULT: bytes that hold the bytes of each text.
    Texts(TextList),
}

impl Plan {
    /// Every symbol that the library itself must export for the plan to work.
    pub(crate) fn symbols(&self) -> HashSet<&str> {
        self.functions.iter().flat_map(CFunction::symbols).collect()
    }

    /// Those of them that are variables.
    pub(crate) fn variables(&self) -> HashSet<&str> {
        self.functions.iter().filter(|one| one.variable.is_some()).map(|one| one.symbol.as_str()).collect()
    }
}

impl CFunction {
    fn symbols(&self) -> impl Iterator<Item = &str> {
        let indirect = self.parameters.iter().filter_map(|parameter| match &parameter.pass {
            Pass::Indirect(pointee) => pointee.free.as_deref(),
            Pass::IndirectTexts(list) => list.free.as_deref(),
            Pass::Value(_)
            | Pass::Buffer(_)
            | Pass::Length { .. }
            | Pass::Handle { .. }
            | Pass::NewHandle { .. }
            | Pass::Rows
            | Pass::Structures(_)
            | Pass::StructureValue(_)
            | Pass::Texts { .. }
            | Pass::Callback(_)
            | Pass::Kept { .. } => None,
        });
        let returned = match &self.returns {
            CReturn::Pointer(pointee) => pointee.free.as_deref(),
            CReturn::Structures(pointee) => pointee.free.as_deref(),
            CReturn::Texts(list) => list.free.as_deref(),
            CReturn::Void | CReturn::Value(_) | CReturn::Handle { .. } | CReturn::Structure(_) => None,
        };
        let frees = indirect.chain(returned);
        let explains = self.explanation.as_ref().map(|explanation| explanation.symbol.as_str());
        frees.chain(explains).chain([self.symbol.as_str()])
    }
}
