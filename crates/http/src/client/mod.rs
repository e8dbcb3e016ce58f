//! The one HTTP client: pooled connections, TLS, proxies, bounded answers, and whether a request can have arrived.

mod connect;
mod error;
mod http_client;
mod pool;
mod resolve;
mod status;

pub use self::error::HttpError;
pub use self::http_client::{Answer, HttpClient, HttpLimits, Target, base_of, credential_headers, sensitive};
pub use self::status::{StatusAnswer, retry_after};
