//! Redirect URIs. Each provider has its own, so that the answer of one cannot be taken for the answer of another
//! (RFC 9700, 4.4: mix-up attacks).

use std::sync::{Arc, OnceLock};

use toolmux_core::hex::to_hex;
use toolmux_core::secret::Secret;

/// Where our own pages are, known once the server listens.
pub type Base = Arc<OnceLock<String>>;

/// Below which path they are.
const PATH: &str = "/auth/callback/";
/// How many bytes of a digest stand for an issuer.
const DIGEST: usize = 16;

/// The last part of a redirect URI for clients that are known by a document about them. All providers that read the
/// document share it, so each of them has to name itself in its answers (RFC 9207).
pub(crate) const OF_DOCUMENT: &str = "client.json";

/// The last part of the redirect URI for an issuer that a server named. Configured providers go by their names.
pub(crate) fn of_issuer(issuer: &str) -> String {
    to_hex(&Secret::new(issuer).sha256()[..DIGEST])
}

/// The redirect URI that a provider has to know: of a server at this address, by the name of the provider.
pub fn address(base: &str, callback: &str) -> String {
    format!("{base}{PATH}{callback}")
}
