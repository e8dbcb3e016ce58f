//! What a store does by itself: it shows that it is alive, takes over from the dead, settles what is uncertain, and prunes.

pub(crate) mod heartbeat;
pub(crate) mod maintenance;
pub(crate) mod prune;
pub(crate) mod surplus;
pub(crate) mod uncertain_claims;
pub(crate) mod write_counter;
