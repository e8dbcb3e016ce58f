//! HTTP requests that a configuration describes, as tools. Requests themselves are the folder `http_request`.

mod describe;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod graphql;
mod parameter;
mod request_line;
mod settings;
mod source;

pub(crate) use self::source::SOURCE;
