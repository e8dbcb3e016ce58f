//! A function ready to be called: what the plan says, checked and resolved once.

use std::ffi::c_void;

use libffi::low::CodePtr;
use libffi::middle::Cif;

use super::explanation::Explanation;
use super::handles::Tag;
use crate::fault::{CallError, CallFault};
use crate::plan::{Buffer, By, Length, Size};
use crate::scalar::Scalar;

pub(super) type Free = unsafe extern "C" fn(*mut c_void);

#[derive(Debug)]
pub(super) struct Function {
    pub(super) cif: Cif,
    pub(super) code: CodePtr,
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
}

#[derive(Debug)]
pub(super) enum Returned {
    Void,
    Value(Scalar),
    Pointer(Pointee),
    Handle(Tag),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Pointee {
    pub(super) element: Scalar,
    pub(super) size: Option<Size>,
    pub(super) length: Length,
    pub(super) free: Option<Free>,
}

impl Function {
    /// A failure that names the parameter it is about, or the return value.
    pub(super) fn about(&self, fault: CallFault, index: impl Into<Option<usize>>, what: &str) -> CallError {
        match index.into() {
            Some(index) => fault.because(format!("`{}` {what}", self.names[index])),
            None => fault.because(format!("the return value {what}")),
        }
    }
}
