//! The operators' routes of a running server, as the command line asks them: `calls/` and `keys.rs` say what for.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toolmux_http::client::{Answer, HttpClient, HttpLimits, base_of, sensitive};

use super::failure::Failure;
use super::remote::{KEY_HINT, KeyOptions};

/// What a server answers at an address that is not for the caller.
const NOTHING_HERE: &str = "there is nothing at this address";
/// How long an answer may last: calls are followed until somebody ends the command.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// A running server.
pub(super) struct ConsoleClient {
    url: String,
    headers: HeaderMap,
}

impl ConsoleClient {
    pub(super) fn new(url: &str, key: &KeyOptions) -> Result<Self, Failure> {
        let no_address = || Failure::refused(anyhow::anyhow!("`{url}` is not the address of a server"));
        if base_of(url).is_none() {
            return Err(no_address().meaning(Some(format!("http://{url}"))));
        }
        let mut headers = HeaderMap::new();
        if let Some(key) = key.key()? {
            let value = sensitive(&format!("Bearer {}", key.expose()));
            let unfit = || {
                Failure::refused(anyhow::anyhow!(
                    "the key of the server has characters that a header cannot carry"
                ))
            };
            headers.insert(header::AUTHORIZATION, value.ok_or_else(unfit)?);
        }
        Ok(ConsoleClient { url: url.to_owned(), headers })
    }

    /// Asks for what `path` has, as JSON.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<T, Failure> {
        read(self.ask(Method::GET, path, query, String::new()).await?).await
    }

    /// Changes something; the answer as JSON.
    pub(super) async fn change<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: String,
    ) -> Result<T, Failure> {
        read(self.ask(method, path, &[], body).await?).await
    }

    /// Asks; the answer as soon as its head is there. A stream may last.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: String,
    ) -> Result<Answer, Failure> {
        let no_address =
            || Failure::refused(anyhow::anyhow!("`{}` is not the address of a server", self.url));
        let base = base_of(&self.url).ok_or_else(no_address)?;
        let mut url = base.join(path).map_err(|_| no_address())?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let limits = HttpLimits { timeout: LONGEST, ..HttpLimits::default() };
        let mut headers = self.headers.clone();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let answer = HttpClient::new(limits).send(method, &url, headers, body).await;
        let answer = answer.map_err(|error| {
            Failure::refused(error).hint("is a toolmux server running there? --url names its address")
        })?;
        if answer.status().is_success() { Ok(answer) } else { Err(refused(answer).await) }
    }
}

async fn read<T: DeserializeOwned>(answer: Answer) -> Result<T, Failure> {
    let body = answer.body().await.map_err(Failure::refused)?;
    serde_json::from_slice(&body).map_err(|error| {
        Failure::refused(anyhow::anyhow!("the server's answer cannot be read: {error}"))
            .hint("is it a toolmux server of this version?")
    })
}

/// What a server that does not answer the question says instead.
async fn refused(answer: Answer) -> Failure {
    #[derive(Deserialize)]
    struct Message {
        message: String,
    }
    let status = answer.status();
    let body = answer.body().await.unwrap_or_default();
    let message = serde_json::from_slice(&body).map(|Message { message }| message);
    let message = message.unwrap_or_else(|_| format!("the server answered {status}"));
    // Callers with a toolset get the same answer as for an unknown address.
    let needs_operator = status == StatusCode::FORBIDDEN || message == NOTHING_HERE;
    let failure = Failure::refused(anyhow::anyhow!(message));
    if status == StatusCode::UNAUTHORIZED {
        failure.hint(KEY_HINT)
    } else if needs_operator {
        failure.hint("use the key of an operator: [keys.NAME] with operator = true and without a toolset")
    } else {
        failure
    }
}
