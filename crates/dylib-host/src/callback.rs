//! Callbacks in the plan of a library: functions of ours that it calls. They collect what they are called with, or
//! compare two elements.

use serde::{Deserialize, Serialize};

use crate::scalar::Scalar;

/// Most arguments of a callback, hidden ones included.
pub const MAX_CALLBACK_PARAMETERS: usize = 10;

/// A function that a library calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Callback {
    /// In items of a listener: which callback it was.
    pub name: String,
    pub does: CallbackAction,
    /// The object, by the parameter that it is, whose callback this becomes: it stays when the call has returned, and
    /// what it collects is given by `collected`. Otherwise it ends with the call. RESULT: its items as a JSON array.
    pub listener: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallbackAction {
    /// Makes an item of each call.
    Collect {
        parts: Vec<CallbackPart>,
        returns: CallbackReturn,
        /// What is returned when there is no room for more, which asks most libraries to stop.
        full: u64,
    },
    /// Orders two elements.
    Compare(Compared),
}

/// One argument of a callback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallbackPart {
    /// The member of the item; nothing if it is not told.
    pub name: Option<String>,
    pub is: CallbackValue,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallbackValue {
    Scalar(Scalar),
    /// Anything by pointer.
    Pointer,
    /// A text that ends with a NUL.
    Text,
    /// Texts in a row that end with NULL.
    Texts,
    /// As many bytes as other arguments say, multiplied.
    Bytes(Vec<usize>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallbackReturn {
    Fixed(u64),
    /// The arguments with these indexes, multiplied: how much was taken.
    Product(Vec<usize>),
}

/// What a comparing callback gets pointers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compared {
    Number(Scalar),
    /// Pointers to texts, as in an array of them.
    Texts,
}
