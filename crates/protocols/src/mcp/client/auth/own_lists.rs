//! What a server shows to the owner of each token besides tools, kept for a short time and for that owner alone.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use toolmux_core::tool::Passthrough;

/// How long lists are good. Listing, reading and completing are often asked one after the other.
const FRESH: Duration = Duration::from_secs(30);
/// Of how many owners lists are kept.
const MOST_OWNERS: usize = 256;

/// The digest of a token, which stands for its owner.
type Owner = [u8; 32];

#[derive(Debug, Default)]
pub(in crate::mcp) struct OwnLists(Mutex<HashMap<Owner, (Instant, Passthrough)>>);

impl OwnLists {
    pub(in crate::mcp) fn find(&self, owner: &Owner) -> Option<Passthrough> {
        self.kept(|kept| {
            let (until, lists) = kept.get(owner)?;
            (*until > Instant::now()).then(|| lists.clone())
        })
    }

    pub(in crate::mcp) fn keep(&self, owner: Owner, lists: Passthrough) {
        let now = Instant::now();
        self.kept(|kept| {
            if kept.len() >= MOST_OWNERS && !kept.contains_key(&owner) {
                let oldest = kept.iter().min_by_key(|(_, (until, _))| *until).map(|(owner, _)| *owner);
                oldest.and_then(|oldest| kept.remove(&oldest));
            }
            kept.insert(owner, (now + FRESH, lists));
        });
    }

    /// The server said that something changed.
    pub(in crate::mcp) fn clear(&self) {
        self.kept(HashMap::clear);
    }

    fn kept<T>(&self, read: impl FnOnce(&mut HashMap<Owner, (Instant, Passthrough)>) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use toolmux_core::json_text::raw_of;

    use super::*;

    fn lists(text: &str) -> Passthrough {
        Passthrough::of("mcp", raw_of(&text.into()))
    }

    #[tokio::test(start_paused = true)]
    async fn lists_are_of_one_owner_and_are_not_kept_for_long() {
        let own = OwnLists::default();
        own.keep([1; 32], lists("alice"));
        assert_eq!(own.find(&[1; 32]), Some(lists("alice")));
        assert_eq!(own.find(&[2; 32]), None);
        tokio::time::advance(FRESH).await;
        assert_eq!(own.find(&[1; 32]), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_lists_make_room() {
        let own = OwnLists::default();
        for number in 0..=u8::MAX {
            own.keep([number; 32], lists("x"));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        own.keep([1; 32], lists("again"));
        assert_eq!(own.find(&[0; 32]), Some(lists("x")), "nobody new came");
        let mut other = [1; 32];
        other[0] = 2;
        own.keep(other, lists("new"));
        assert_eq!((own.find(&[0; 32]), own.find(&other)), (None, Some(lists("new"))));
    }
}
