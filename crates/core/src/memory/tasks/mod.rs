//! Tasks in memory.

mod ended;
mod port;
mod record;
mod table;

pub(super) use self::table::Tasks;
