//! The requests of one HTTP/2 connection, each a task of its own. All of them end with the connection.

use std::sync::{Arc, Mutex, PoisonError};

use hyper::rt::Executor;
use tokio::task::JoinSet;

/// What runs the requests of a connection. Dropping the last clone ends them.
#[derive(Clone, Default)]
pub(super) struct StreamTasks(Arc<Mutex<JoinSet<()>>>);

impl<F: Future + Send + 'static> Executor<F> for StreamTasks {
    fn execute(&self, request: F) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A set keeps the results of ended tasks until they are asked for; here is where they are forgotten.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            request.await;
        });
    }
}
