//! Bells: whoever waits for a record to change listens, whoever changes it rings.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// Named bells. A bell exists while somebody listens to it.
#[derive(Debug, Default)]
pub struct Bells(Mutex<HashMap<Box<str>, watch::Sender<u64>>>);

impl Bells {
    /// Listens to a bell; what rings after this is heard.
    pub fn listen(self: &Arc<Self>, name: &str) -> Listener {
        let heard = self.bells(|bells| bells.entry(name.into()).or_default().subscribe());
        Listener { bells: Arc::clone(self), name: name.into(), heard }
    }

    /// Rings one bell.
    pub fn ring(&self, name: &str) {
        self.bells(|bells| {
            if let Some(bell) = bells.get(name) {
                bell.send_modify(|count| *count += 1);
            }
        });
    }

    /// Rings all: something may have been missed.
    pub fn ring_all(&self) {
        self.bells(|bells| {
            for bell in bells.values() {
                bell.send_modify(|count| *count += 1);
            }
        });
    }

    /// True when nobody listens to any.
    pub fn is_idle(&self) -> bool {
        self.bells(|bells| bells.is_empty())
    }

    fn bells<T>(&self, read: impl FnOnce(&mut HashMap<Box<str>, watch::Sender<u64>>) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An ear on one bell. The bell goes with its last listener.
#[derive(Debug)]
pub struct Listener {
    bells: Arc<Bells>,
    name: Box<str>,
    heard: watch::Receiver<u64>,
}

impl Listener {
    /// Ends when the bell has rung since this was last called. Dropping the future misses nothing.
    pub async fn heard(&mut self) {
        // The sender lives at least as long as this listener.
        self.heard.changed().await.ok();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.bells.bells(|bells| {
            if bells.get(&self.name).is_some_and(|bell| bell.receiver_count() <= 1) {
                bells.remove(&self.name);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_listener_hears_what_rings_after_it_came() {
        let bells = Arc::new(Bells::default());
        let (mut one, mut other) = (bells.listen("a"), bells.listen("b"));
        bells.ring("a");
        one.heard().await;
        bells.ring_all();
        other.heard().await;
        drop(one);
        assert!(!bells.is_idle());
        drop(other);
        assert!(bells.is_idle());
    }
}
