//! The authorization broker: an OAuth 2.0 client that gets users' consent, keeps their tokens sealed, renews
//! them, and the pages that a user's browser and a polling client see.

mod broker;
mod callback;
mod challenge;
mod clients;
mod consent;
mod consent_page;
mod cookie;
mod discovery;
mod endpoint;
mod flow;
mod identity;
mod owner;
mod provider;
mod providers;
mod registration;
mod renewal;
mod renewal_lease;
mod resolved_provider;
mod seal;
mod sealed_records;
mod serve;
mod sign_in;

pub use self::broker::OAuthBroker;
pub use self::callback::{Base, address as redirect_uri};
pub use self::owner::Owner;
pub use self::provider::Provider;
pub use self::resolved_provider::{ClientAuth, ProviderError};
pub use self::seal::SealingKey;
pub use self::serve::SERVED;
