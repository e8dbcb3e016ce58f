//! HTTP APIs that OpenAPI documents describe: every operation a tool.

mod arguments;
mod body;
mod check;
mod choices;
mod corrections;
mod definitions;
mod detect;
mod document;
mod fetch;
mod file_shape;
mod keywords;
mod media;
mod operation_names;
mod operation_tool;
mod parameters;
mod path_items;
mod patterns;
mod reading;
mod request_path;
mod responses;
mod schema_writer;
mod security;
mod servers;
mod settings;
mod source;
mod toolmux_operation;

pub(crate) use self::detect::{DOCUMENT, DOCUMENT_2};
pub(crate) use self::source::SOURCE;

/// The word under which a source keeps its document for the next start.
const PROTOCOL: &str = "openapi";
