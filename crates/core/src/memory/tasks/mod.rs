//! Tasks in memory.

mod ended;
mod port;
mod queue;
mod record;
mod table;

pub(super) use self::table::Tasks;
