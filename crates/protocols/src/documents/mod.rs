//! What documents that people write share: how their text is read, faults with their place in it, corrections, and schemas
//! without references.

mod document_limits;
pub(crate) mod document_setting;
mod document_text;
pub mod fault;
pub(crate) mod function_list;
pub(crate) mod inlined_schema;
pub(crate) mod json_patch;
mod yaml;
mod yaml_scalar;

pub(crate) use self::document_limits::MOST_BYTES;
pub use self::document_text::read_document;
