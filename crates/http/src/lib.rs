//! HTTP on both sides: the one client, the codec of server-sent events, and what every served route shares.
//! No protocol is named here: what one of them needs at every address is in its entry, [`serve::Served`].

pub mod client;
#[cfg(any(test, fuzzing))]
pub mod fuzz_targets;
pub mod network_zone;
pub mod pem;
pub mod protected_resource;
pub mod serve;
pub mod sse;
