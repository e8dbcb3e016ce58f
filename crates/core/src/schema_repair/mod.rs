//! Schemas that break the rules of JSON Schema, repaired as far as their meaning is clear: a keyword that cannot be
//! read is left out, so that the tool is served and the rest of its schema still holds.
//!
//! A schema that can be compiled is never changed, with one exception: `nullable: true` of OpenAPI, which JSON Schema
//! does not know, is turned into what it means.

mod keywords;
mod patterns;
mod references;
mod repair;
mod walk;

pub use self::repair::readable;
pub(crate) use self::repair::{Repaired, compile};
