//! What documents that people write share: faults with their place in the text, and schemas without references.

pub(crate) mod document_setting;
pub mod fault;
pub(crate) mod function_list;
pub(crate) mod inlined_schema;
