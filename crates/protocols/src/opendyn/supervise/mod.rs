//! Watches over the workers of a library: starts them, sends them calls, keeps their time limits, reaps them. A call that
//! kills its worker costs that call alone; calls behind it had not begun and go to the next worker.

mod answers;
mod death;
mod job;
mod pool;
mod supervisor;
mod worker;
mod worker_queue;

pub(super) use self::death::Death;
pub(super) use self::job::{Answered, Job, Rejected};
pub(super) use self::pool::{Pool, PoolSettings, WorkerSharing};
pub use self::worker::become_worker_if_asked;
pub(super) use self::worker::{ALLOCATOR_KEEPS, Launch, MARK};
