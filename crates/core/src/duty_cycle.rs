//! Long work in the background that leaves half of its core to others.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long work goes on before a pause as long.
const WORK: Duration = Duration::from_millis(4);

/// Pauses between pieces of work, on a thread that may block. Short work is not delayed.
#[derive(Debug)]
pub struct DutyCycle(Instant);

impl Default for DutyCycle {
    fn default() -> Self {
        DutyCycle(Instant::now())
    }
}

impl DutyCycle {
    /// Between two pieces of work: pauses when it is time.
    pub fn pause(&mut self) {
        let worked = self.0.elapsed();
        if worked >= WORK {
            sleep(worked);
            self.0 = Instant::now();
        }
    }
}
