//! Runs fuzz targets on the stable toolchain: mutated examples, a bounded number of them, the same in every run.
//! The targets themselves live beside the parsers they try, in files called `fuzz_targets.rs`.

mod bytes;
mod harness;
mod json;
mod mutation;
mod random;

pub use self::harness::hold;

/// A target: its name, valid examples of its input, and the check of its invariants, which panics when one does not
/// hold. A tuple, so that crates can list their targets without a dependency on this one when `cargo fuzz` builds them.
pub type FuzzTarget = (&'static str, fn() -> Vec<Vec<u8>>, fn(&[u8]));
