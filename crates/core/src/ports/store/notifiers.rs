//! Notifiers: whoever waits for a record to change subscribes by its name, whoever changes it notifies.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// Notifiers by name. Each exists while somebody is subscribed.
#[derive(Debug, Default)]
pub struct Notifiers(Mutex<HashMap<Box<str>, watch::Sender<u64>>>);

impl Notifiers {
    /// Subscribes to a name; every notification after this is seen.
    pub fn listen(self: &Arc<Self>, name: &str) -> Listener {
        let receiver = self.notifiers(|notifiers| notifiers.entry(name.into()).or_default().subscribe());
        Listener { notifiers: Arc::clone(self), name: name.into(), receiver }
    }

    /// Notifies the subscribers of one name.
    pub fn notify(&self, name: &str) {
        self.notifiers(|notifiers| {
            if let Some(notifier) = notifiers.get(name) {
                notifier.send_modify(|count| *count += 1);
            }
        });
    }

    /// Notifies everybody: a notification may have been missed.
    pub fn notify_all(&self) {
        self.notifiers(|notifiers| {
            for notifier in notifiers.values() {
                notifier.send_modify(|count| *count += 1);
            }
        });
    }

    /// True when nobody listens to any.
    pub fn is_idle(&self) -> bool {
        self.notifiers(|notifiers| notifiers.is_empty())
    }

    fn notifiers<T>(&self, read: impl FnOnce(&mut HashMap<Box<str>, watch::Sender<u64>>) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A subscription to one name, which is forgotten with its last subscriber.
#[derive(Debug)]
pub struct Listener {
    notifiers: Arc<Notifiers>,
    name: Box<str>,
    receiver: watch::Receiver<u64>,
}

impl Listener {
    /// Ends when there was a notification since this was last called. Dropping the future misses nothing.
    pub async fn changed(&mut self) {
        // The sender lives at least as long as this listener.
        self.receiver.changed().await.ok();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.notifiers.notifiers(|notifiers| {
            if notifiers.get(&self.name).is_some_and(|notifier| notifier.receiver_count() <= 1) {
                notifiers.remove(&self.name);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_listener_sees_what_comes_after_it_subscribed() {
        let notifiers = Arc::new(Notifiers::default());
        let (mut one, mut other) = (notifiers.listen("a"), notifiers.listen("b"));
        notifiers.notify("a");
        one.changed().await;
        notifiers.notify_all();
        other.changed().await;
        drop(one);
        assert!(!notifiers.is_idle());
        drop(other);
        assert!(notifiers.is_idle());
    }
}
