//! Tools as an HTTP API: a POST for each, described by one OpenAPI document, and a page that shows them.

mod api_document;
mod page;
mod schemas;
mod serve;
mod wire;

pub(crate) use self::serve::SERVED;
