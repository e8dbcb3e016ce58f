//! Structures in the plan of a library: how large one is, how it is passed by value, and which of its members point to
//! something else. The bytes of a structure travel as they are in memory; what its pointers lead to follows them.

use serde::{Deserialize, Serialize};

use crate::plan::{Direction, Length, Size};
use crate::scalar::Scalar;

/// The layout of one structure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Structure {
    /// Bytes of one.
    pub size: usize,
    /// What it is made of, in order: for passing it by value.
    pub members: Vec<MemberType>,
    /// Members whose targets travel with it. Those of an input are placed by us, those of an output are copied.
    pub pointers: Vec<PointerMember>,
}

/// The type of a member, pointers being numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberType {
    Scalar(Scalar),
    Structure(Vec<MemberType>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointerMember {
    pub offset: usize,
    pub target: PointerTarget,
}

/// What a pointer within a structure leads to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointerTarget {
    /// A text that ends with a NUL.
    Text,
    /// As many elements of so many bytes each as integers of the same structure say, multiplied.
    Elements { width: usize, times: u64, factors: Vec<(usize, Scalar)> },
}

/// One or several structures by pointer. CALL: bytes unless it is an output, then the targets of each. RESULT: the same
/// unless it is an input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Structures {
    pub one: Structure,
    pub direction: Direction,
    /// How many: the exact number of an input, the capacity of an output.
    pub size: Option<Size>,
    pub length: Length,
}

/// Structures of the library that a returned pointer leads to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StructurePointee {
    pub one: Structure,
    /// How many; needed unless `length` is a parameter.
    pub size: Option<Size>,
    pub length: Length,
    /// As in [`Pointee`](crate::plan::Pointee).
    pub free: Option<String>,
}

/// A list of texts that belongs to the library: `char **`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextList {
    /// [`Length::Nul`] for a list that ends with NULL.
    pub length: Length,
    /// As in [`Pointee`](crate::plan::Pointee); frees the list, not its texts.
    pub free: Option<String>,
}
