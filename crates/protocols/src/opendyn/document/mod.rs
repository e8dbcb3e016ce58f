//! OpenDyn documents: a typed model and a tolerant reader that tells every fault with its place and remedy.

mod callbacks;
mod content;
mod members;
mod read;
mod read_form;
mod structures;

pub(super) use self::content::{
    C_TYPES, Callback, Document, Encoding, Flow, Form, Function, Kind, LengthFrom, NullPointer, Parameter,
    Return, Size, Success, ValueNames, c_word,
};
pub(super) use self::read::{MOST_FUNCTIONS, Reader};
