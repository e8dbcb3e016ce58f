//! How a durable store behaves.

use std::time::Duration;

use toolmux_core::ports::store::{PRUNE_EVERY, Retention};

/// How a durable store behaves.
#[derive(Clone, Copy, Debug)]
pub struct StoreSettings {
    /// How long a server that says nothing is taken to be alive.
    pub lease: Duration,
    /// What is kept and for how long.
    pub retention: Retention,
    /// How often what is older or more than that is removed.
    pub prune_every: Duration,
    /// How long a database that does not answer is waited for.
    pub patience: Duration,
}

impl Default for StoreSettings {
    fn default() -> Self {
        StoreSettings {
            lease: Duration::from_secs(10),
            retention: Retention::default(),
            prune_every: PRUNE_EVERY,
            patience: Duration::from_secs(3),
        }
    }
}
