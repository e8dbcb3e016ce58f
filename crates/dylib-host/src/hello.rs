//! The two JSON payloads, sent once each: HELLO tells the worker what to load and how far to trust it,
//! READY tells the server what came of it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::scalar::{Class, Scalar};

/// Payload of HELLO.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    pub plan: Plan,
    pub sandbox: Sandbox,
}

/// What the library may do beyond computing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sandbox {
    pub profile: Profile,
    /// Files and folders that may be read under [`Profile::Deny`].
    pub readable: Vec<PathBuf>,
    /// Files and folders that may be written and read under [`Profile::Deny`].
    pub writable: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Computing only: no files, no threads, no processes, no network.
    #[default]
    Pure,
    /// Listed files and threads; no processes, no network.
    Deny,
    /// Whatever the user of the server may do.
    Off,
}

/// Payload of READY.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// One per function of the plan, in its order.
    pub functions: Vec<Readiness>,
    pub abi: Abi,
    pub enforced: Enforced,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    Callable,
    /// The library file itself does not export the function.
    SymbolMissing(String),
    /// The description cannot be called.
    BadPlan(String),
}

/// What the server must know of the worker's C ABI to build values for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abi {
    pub long: usize,
    pub pointer: usize,
    pub char_signed: bool,
}

impl Abi {
    /// The ABI this code was compiled for.
    pub const HOST: Self = Self {
        long: Scalar::Long.size(),
        pointer: size_of::<usize>(),
        char_signed: matches!(Scalar::Char.class(), Class::Signed),
    };
}

/// How much of the sandbox the kernel grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforced {
    pub files: Degree,
    pub system_calls: Degree,
}

/// In order, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Degree {
    Not,
    /// The kernel is older than the rules.
    Partly,
    Fully,
}
