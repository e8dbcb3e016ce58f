//! Fetches the keys that tokens are signed with, at start and from time to time.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use arc_swap::ArcSwap;
use http::{HeaderMap, Method};
use jsonwebtoken::jwk::JwkSet;
use tokio::task::JoinSet;
use toolmux_http::client::{HttpClient, HttpLimits};

use crate::config::Config;

/// How often keys are fetched.
const EVERY: Duration = Duration::from_mins(5);
/// How soon it is tried again when they could not be.
const AGAIN: Duration = Duration::from_secs(5);
/// The largest set of keys.
const MOST_BYTES: usize = 1 << 20;

/// Fetches until it is dropped. A set of one task, because a set aborts its tasks when it is dropped; the task holds
/// nothing that needs an orderly end.
pub(crate) struct Follower {
    _fetching: JoinSet<()>,
}

/// Where the configuration says that keys are published.
pub(crate) fn address(config: &Config) -> Option<String> {
    config.jwt.as_ref()?.jwks.clone()
}

/// Follows the keys that the configuration names, if it names any.
pub(crate) fn follow(config: &Config, keys: &Arc<ArcSwap<JwkSet>>) -> Option<Follower> {
    let url = address(config)?;
    let mut fetching = JoinSet::new();
    fetching.spawn(fetch_forever(url, Arc::clone(keys)));
    Some(Follower { _fetching: fetching })
}

async fn fetch_forever(url: String, keys: Arc<ArcSwap<JwkSet>>) {
    let limits =
        HttpLimits { timeout: Duration::from_secs(10), body_bytes: MOST_BYTES, ..HttpLimits::default() };
    let client = HttpClient::new(limits);
    loop {
        let pause = match fetch(&client, &url).await {
            Ok(fetched) => {
                keys.store(Arc::new(fetched));
                EVERY
            }
            Err(error) => {
                // The address may hold a password.
                tracing::warn!("cannot fetch the keys of tokens from `jwt.jwks`: {error:#}");
                AGAIN
            }
        };
        tokio::time::sleep(pause).await;
    }
}

async fn fetch(client: &HttpClient, url: &str) -> anyhow::Result<JwkSet> {
    let url = url.parse().context("the address cannot be read")?;
    let answer = client.send(Method::GET, &url, HeaderMap::new(), "").await?;
    anyhow::ensure!(answer.status().is_success(), "the answer is {}", answer.status());
    Ok(serde_json::from_slice(&answer.body().await?)?)
}
