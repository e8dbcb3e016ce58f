//! Names to addresses, without those that a client is not to connect to. The check is made on the addresses that the
//! connection is then made to, so that a name cannot resolve to one address for the check and to another for the
//! connection.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use http::Uri;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower::Service;

use crate::network_zone::Reach;

/// Resolves names as the system does.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
    system: GaiResolver,
    reach: Reach,
}

impl Resolver {
    pub(super) fn new(reach: Reach) -> Self {
        Resolver { system: GaiResolver::new(), reach }
    }

    /// Refuses an address that is written out: those are never resolved.
    pub(super) fn check_literal(&self, to: &Uri) -> io::Result<()> {
        match literal(to) {
            Some(ip) if !self.reach.allows(ip) => Err(refused(to.host().unwrap_or_default(), self.reach)),
            _ => Ok(()),
        }
    }

    /// Refuses a host that may not be connected to, by its name or its address.
    pub(super) async fn check(&mut self, to: &Uri) -> io::Result<()> {
        self.check_literal(to)?;
        if self.reach == Reach::Anywhere || literal(to).is_some() {
            return Ok(());
        }
        let name = to.host().unwrap_or_default().parse::<Name>().map_err(io::Error::other)?;
        self.call(name).await.map(drop)
    }
}

fn literal(to: &Uri) -> Option<IpAddr> {
    to.host()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.system.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (reach, host) = (self.reach, name.as_str().to_owned());
        let resolving = self.system.call(name);
        Box::pin(async move {
            let found = resolving.await?;
            let allowed: Vec<SocketAddr> = found.filter(|address| reach.allows(address.ip())).collect();
            if allowed.is_empty() { Err(refused(&host, reach)) } else { Ok(allowed.into_iter()) }
        })
    }
}

fn refused(host: &str, reach: Reach) -> io::Error {
    let what = match reach {
        Reach::Public | Reach::Anywhere => "is not at a public address, and another server named it",
        Reach::Private => "is not at a private address",
    };
    io::Error::new(io::ErrorKind::PermissionDenied, format!("`{host}` {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(reach: Reach, url: &str, expect: bool) {
        let checked = Resolver::new(reach).check(&url.parse().unwrap()).await;
        assert_eq!(checked.is_ok(), expect, "{reach:?} {url} {checked:?}");
    }

    #[tokio::test]
    async fn names_that_resolve_to_private_addresses_are_refused() {
        for url in ["https://localhost/a", "https://127.0.0.2:1/a", "https://[::1]/a", "https://10.0.0.1"] {
            check(Reach::Public, url, false).await;
            check(Reach::Private, url, true).await;
            check(Reach::Anywhere, url, true).await;
        }
        check(Reach::Public, "https://8.8.8.8/a", true).await;
        check(Reach::Private, "https://8.8.8.8/a", false).await;
    }
}
