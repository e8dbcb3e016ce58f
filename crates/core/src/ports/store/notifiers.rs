//! Notifiers: whoever waits for a record to change subscribes by its name, whoever changes it notifies.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, watch};

/// Notifiers by name. Each exists while somebody is subscribed.
#[derive(Debug, Default)]
pub struct Notifiers(Mutex<HashMap<Box<str>, Notifier>>);

/// The notifier of one name.
#[derive(Debug, Default)]
struct Notifier {
    all: watch::Sender<u64>,
    one: Arc<Notify>,
}

impl Notifiers {
    /// Subscribes to a name; every notification after this is seen.
    pub fn listen(self: &Arc<Self>, name: &str) -> Listener {
        let (receiver, one) = self.notifiers(|notifiers| {
            let notifier = notifiers.entry(name.into()).or_default();
            (notifier.all.subscribe(), Arc::clone(&notifier.one))
        });
        Listener { notifiers: Arc::clone(self), name: name.into(), receiver, one }
    }

    /// Notifies the subscribers of one name.
    pub fn notify(&self, name: &str) {
        self.notifiers(|notifiers| {
            if let Some(notifier) = notifiers.get(name) {
                notifier.all.send_modify(|count| *count += 1);
            }
        });
    }

    /// Notifies one of the subscribers of a name, one that waits if any does: for what only one of them can have.
    pub fn notify_one(&self, name: &str) {
        self.notifiers(|notifiers| {
            if let Some(notifier) = notifiers.get(name) {
                notifier.one.notify_one();
            }
        });
    }

    /// Whether anybody is subscribed to a name.
    pub fn is_listened_to(&self, name: &str) -> bool {
        self.notifiers(|notifiers| notifiers.contains_key(name))
    }

    /// Notifies everybody: a notification may have been missed.
    pub fn notify_all(&self) {
        self.notifiers(|notifiers| {
            for notifier in notifiers.values() {
                notifier.all.send_modify(|count| *count += 1);
            }
        });
    }

    /// True when nobody listens to any.
    pub fn is_idle(&self) -> bool {
        self.notifiers(|notifiers| notifiers.is_empty())
    }

    fn notifiers<T>(&self, read: impl FnOnce(&mut HashMap<Box<str>, Notifier>) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A subscription to one name, which is forgotten with its last subscriber.
#[derive(Debug)]
pub struct Listener {
    notifiers: Arc<Notifiers>,
    name: Box<str>,
    receiver: watch::Receiver<u64>,
    one: Arc<Notify>,
}

impl Listener {
    /// Ends when there was a notification since this was last called. Dropping the future misses nothing.
    pub async fn changed(&mut self) {
        tokio::select! {
            // The sender lives at least as long as this listener.
            _ = self.receiver.changed() => {}
            // Dropped after it was notified, it notifies another.
            () = self.one.notified() => {}
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.notifiers.notifiers(|notifiers| {
            if notifiers.get(&self.name).is_some_and(|notifier| notifier.all.receiver_count() <= 1) {
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

    #[tokio::test]
    async fn of_many_listeners_one_is_notified() {
        let notifiers = Arc::new(Notifiers::default());
        assert!(!notifiers.is_listened_to("a"));
        let mut listeners: Vec<Listener> = (0..9).map(|_| notifiers.listen("a")).collect();
        assert!(notifiers.is_listened_to("a"));
        let notified = async |listeners: &mut Vec<Listener>| {
            let mut count = 0;
            for listener in listeners {
                let changed =
                    tokio::select! { biased; () = listener.changed() => 1, () = std::future::ready(()) => 0 };
                count += changed;
            }
            count
        };
        notifiers.notify_one("a");
        assert_eq!(notified(&mut listeners).await, 1);
        notifiers.notify("a");
        assert_eq!(notified(&mut listeners).await, 9);
    }
}
