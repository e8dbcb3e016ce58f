//! Commands as tools.

mod ended;
mod settings;
mod source;
mod template;

pub(crate) use self::source::SOURCE;
