//! HTTP clients for what the broker asks, by which addresses each connects to. What an operator wrote may be anywhere.
//! What another server named must be public, unless that server is inside itself: nobody on the Internet leads this
//! server to its own machine or network.

use url::Url;

use toolmux_http::client::{HttpClient, HttpLimits};
use toolmux_http::network_zone::Reach;

/// One client for each reach.
pub(crate) struct Clients {
    anywhere: HttpClient,
    public: HttpClient,
    private: HttpClient,
}

impl Clients {
    pub(crate) fn new() -> Self {
        let client = |reach| HttpClient::reaching(reach, HttpLimits::default());
        Clients {
            anywhere: client(Reach::Anywhere),
            public: client(Reach::Public),
            private: client(Reach::Private),
        }
    }

    pub(crate) fn of(&self, reach: Reach) -> &HttpClient {
        match reach {
            Reach::Anywhere => &self.anywhere,
            Reach::Public => &self.public,
            Reach::Private => &self.private,
        }
    }

    /// On which side a server is that may be anywhere. The client for that side then connects to no address on the
    /// other one, whatever the name resolves to by then.
    pub(crate) async fn side_of(&self, url: &Url, allowed: Reach) -> Reach {
        match allowed {
            Reach::Anywhere if self.public.check(url).await.is_err() => Reach::Private,
            Reach::Anywhere => Reach::Public,
            Reach::Public | Reach::Private => allowed,
        }
    }
}

/// What a server may name that answered from one side: those inside may name anything.
pub(crate) fn named_from(side: Reach) -> Reach {
    match side {
        Reach::Public => Reach::Public,
        Reach::Private | Reach::Anywhere => Reach::Anywhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(url: &str, allowed: Reach, expect: (Reach, Reach)) {
        let side = Clients::new().side_of(&url.parse().unwrap(), allowed).await;
        assert_eq!((side, named_from(side)), expect, "{url} {allowed:?}");
    }

    #[tokio::test]
    async fn only_a_server_inside_may_name_addresses_inside() {
        check("https://8.8.8.8/mcp", Reach::Anywhere, (Reach::Public, Reach::Public)).await;
        check("http://127.0.0.2/mcp", Reach::Anywhere, (Reach::Private, Reach::Anywhere)).await;
        check("http://localhost/mcp", Reach::Anywhere, (Reach::Private, Reach::Anywhere)).await;
        check("https://localhost/login", Reach::Public, (Reach::Public, Reach::Public)).await;
    }
}
