//! Bounds of a client.

use std::time::Duration;

/// How long a client waits, and how much it reads.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long a whole exchange may take.
    pub timeout: Duration,
    /// The largest answer.
    pub body_bytes: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        HttpLimits {
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_mins(5),
            body_bytes: 64 << 20,
        }
    }
}
