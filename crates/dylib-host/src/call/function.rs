//! A function ready to be called: what the plan says, checked and resolved once.

use std::ffi::c_void;
use std::sync::Arc;

use libffi::low::CodePtr;
use libffi::middle::Cif;

use super::explanation::Explanation;
use super::handles::Tag;
use crate::callback::Callback;
use crate::fault::{CallError, CallFault};
use crate::plan::{Buffer, By, KeptFor, Length, Size, VariableIs};
use crate::scalar::Scalar;
use crate::structure::{Structure, Structures};

pub(super) type Free = unsafe extern "C" fn(*mut c_void);

#[expect(clippy::struct_excessive_bools, reason = "each spares a look through the steps at every call")]
#[derive(Debug)]
pub(super) struct Function {
    pub(super) cif: Cif,
    pub(super) code: CodePtr,
    /// The code is a variable.
    pub(super) variable: Option<VariableIs>,
    /// Its arguments are members to be set in a structure.
    pub(super) stores: bool,
    /// Bit per parameter: a structure by value.
    pub(super) by_value: u32,
    pub(super) steps: Box<[Step]>,
    pub(super) names: Box<[String]>,
    pub(super) returns: Returned,
    pub(super) errno: bool,
    pub(super) explanation: Option<Explanation>,
    /// Some argument points to memory of ours.
    pub(super) places: bool,
    pub(super) closes: bool,
    /// How many handles one call can make.
    pub(super) opens: usize,
}

#[derive(Debug)]
pub(super) enum Step {
    Value(Scalar),
    Buffer(Buffer),
    Length { of: usize, scalar: Scalar, by: By },
    Indirect(Pointee),
    Handle { tag: Tag, closes: bool },
    NewHandle { tag: Tag },
    Rows,
    Structures(Box<Structures>),
    StructureValue(Box<Structure>),
    Texts { terminated: bool },
    IndirectTexts(TextList),
    Callback(Arc<Callback>),
    Kept { element: Scalar, terminated: bool, of: KeptFor },
}

#[derive(Debug)]
pub(super) enum Returned {
    Void,
    Value(Scalar),
    Pointer(Pointee),
    Handle(Tag),
    Structure(Box<Structure>),
    Structures(Box<StructurePointee>),
    Texts(TextList),
}

#[derive(Debug)]
pub(super) struct StructurePointee {
    pub(super) one: Structure,
    pub(super) size: Option<Size>,
    pub(super) length: Length,
    pub(super) free: Option<Free>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct TextList {
    pub(super) length: Length,
    pub(super) free: Option<Free>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Pointee {
    pub(super) element: Scalar,
    pub(super) size: Option<Size>,
    pub(super) length: Length,
    pub(super) free: Option<Free>,
}

impl Function {
    /// How many elements a returned pointer leads to, where the plan says so.
    pub(super) fn return_size(&self) -> Option<Size> {
        match &self.returns {
            Returned::Pointer(pointee) => pointee.size,
            Returned::Structures(pointee) => pointee.size,
            Returned::Void
            | Returned::Value(_)
            | Returned::Handle(_)
            | Returned::Structure(_)
            | Returned::Texts(_) => None,
        }
    }

    /// How many words the return value takes.
    pub(super) fn return_words(&self) -> usize {
        match &self.returns {
            Returned::Structure(one) => one.size.div_ceil(size_of::<u64>()).max(1),
            Returned::Void
            | Returned::Value(_)
            | Returned::Pointer(_)
            | Returned::Handle(_)
            | Returned::Structures(_)
            | Returned::Texts(_) => 1,
        }
    }

    /// A failure that names the parameter it is about, or the return value.
    pub(super) fn about(&self, fault: CallFault, index: impl Into<Option<usize>>, what: &str) -> CallError {
        match index.into() {
            Some(index) => fault.because(format!("`{}` {what}", self.names[index])),
            None => fault.because(format!("the return value {what}")),
        }
    }
}
