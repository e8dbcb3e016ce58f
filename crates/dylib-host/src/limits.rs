//! The bounds a worker keeps, by name and with their defaults.

use serde::{Deserialize, Serialize};

const MIB: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerLimits {
    /// Bytes of one string that the library returned.
    pub text: u64,
    /// Bytes of all output buffers of one call, and of one array that the library returned.
    pub outputs: u64,
    /// Addresses that the library and what it allocates may take.
    pub memory: u64,
    /// Descriptors the library may hold open.
    pub descriptors: u64,
    /// Objects of the library that may be open at once.
    pub handles: usize,
}

impl Default for WorkerLimits {
    fn default() -> Self {
        Self { text: MIB, outputs: 16 * MIB, memory: 1024 * MIB, descriptors: 64, handles: 1024 }
    }
}
