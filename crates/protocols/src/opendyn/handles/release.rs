//! Closes objects whose owner has left, that nobody was told of, or that were not used for long.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::closers::Closers;
use super::table::{Due, HandleTable};
use crate::opendyn::engine::Engine;
use crate::opendyn::source::TIME_LIMIT;
use crate::opendyn::supervise::{Answered, Rejected};

/// The pause before closing is tried again where too many calls wait for the library.
const WHEN_FULL: Duration = Duration::from_millis(250);

/// Runs until it is dropped. One object is closed at a time, in the queue of all calls.
pub(in crate::opendyn) async fn close_released(
    table: Arc<HandleTable>,
    engine: Arc<Engine>,
    closers: Arc<Closers>,
) {
    loop {
        // Whatever is released from here on leaves a permit in `wake`.
        let mut is_full = false;
        for due in table.due(Instant::now()) {
            is_full = !close(&due, &engine, &closers).await;
            if is_full {
                break;
            }
            table.remove(due.id);
        }
        let next = async {
            match table.next_due() {
                _ if is_full => sleep(WHEN_FULL).await,
                Some(next) => sleep_until(next).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = next => {}
            () = table.wake.notified() => {}
        }
    }
}

/// False when the library takes no call now.
async fn close(due: &Due, engine: &Engine, closers: &Closers) -> bool {
    let Some(job) = closers.job(&due.tag, due.word, TIME_LIMIT) else { return true };
    let generation = (due.word >> 32) as u32;
    match engine.run(job, Some(generation), None).await {
        Err(Rejected::Full) => return false,
        // The worker is gone, and the object with it.
        Err(_) | Ok(Answered::Values(..) | Answered::NotRun(_)) => {}
        Ok(Answered::Fault(_, text)) => {
            tracing::debug!(kind = due.tag, "an object could not be closed: {text}");
        }
        Ok(Answered::Died(death)) => {
            tracing::warn!(kind = due.tag, "the library died while an object of it was closed: {death:?}");
        }
    }
    true
}
