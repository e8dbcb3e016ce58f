//! What the sandbox refused a library while one of its functions ran.

use serde::{Deserialize, Serialize};

/// The JSON behind `errno` in a RESULT is a list of these, the latest last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Denial {
    /// To read a file or folder, by the path as the library gave it.
    Read(String),
    /// To make, write, rename or remove a file or folder.
    Write(String),
    /// A system call, by its name.
    Call(String),
}
