//! Commands as tools.

mod source;
mod template;

pub(crate) use self::source::SOURCE;
