//! The one HTTP client: pooled connections, TLS, proxies, bounded answers, and whether a request can have arrived.

mod address;
mod answer;
mod connect;
mod error;
mod http_client;
mod limits;
mod pool;
mod redirect;
mod resolve;
mod status;
mod tls;

pub use self::address::{base_of, credential_headers, sensitive, web_address};
pub use self::answer::Answer;
pub use self::error::HttpError;
pub use self::http_client::{HttpClient, Target};
pub use self::limits::HttpLimits;
pub use self::redirect::{redirect_of, remove_credentials};
pub use self::status::{StatusAnswer, retry_after};
pub use self::tls::{ClientTls, TlsMaterial};
