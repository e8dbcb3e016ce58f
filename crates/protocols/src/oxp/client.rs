//! We ask as an OXP client: health, list, call, retries, challenges.

use std::sync::OnceLock;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use toolmux_core::outcome::{Outcome, Retry};
use toolmux_core::ports::figures::ConnectionFigures;
use toolmux_core::refusal::{Challenge, Refusal};
use toolmux_core::secret::Secret;
use toolmux_http::client::{
    Answer, ClientTls, HttpClient, HttpError, HttpLimits, StatusAnswer, base_of, sensitive,
};
use url::Url;
use uuid::Uuid;

use super::upstream::{
    Answered, NOT_EXECUTED, ToolCall, ToolList, decode, decode_list, decode_refusal, encode,
};
use super::version::{OXP_VERSION, OXP_VERSION_HEADER};
use super::wire::Form;

/// How patient a client is.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How often one call is tried at most.
    pub attempts: u32,
    /// The pause before a retry when the server names none; it doubles.
    pub pause: Duration,
    /// The longest pause a server can ask for before a failure is just reported.
    pub longest_pause: Duration,
    /// How often a challenge is looked at.
    pub poll: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            attempts: 3,
            pause: Duration::from_millis(200),
            longest_pause: Duration::from_secs(30),
            poll: Duration::from_secs(1),
        }
    }
}

/// Why a client got no outcome.
#[derive(Debug, thiserror::Error)]
pub enum OxpError {
    /// The address is not one.
    #[error("`{0}` is not the address of an OXP server")]
    Address(String),
    /// The key has characters that a header cannot carry.
    #[error("the key has characters that a header cannot carry")]
    Key,
    /// The exchange failed.
    #[error("the request to the server failed")]
    Http(#[from] HttpError),
    /// The server says that the tool did not run.
    #[error("the server refused the call ({})", .0.name())]
    Refused(Refusal),
    /// The server answered something else than OXP.
    #[error("the server answered {status}, which is not OXP: {what}")]
    NotOxp {
        status: StatusCode,
        /// When to try again, if it says so.
        retry_after: Option<Duration>,
        /// What is wrong with it.
        what: String,
    },
}

/// How a challenge ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The user allowed it: call again.
    Completed,
    /// The user did not, or the challenge has expired.
    Failed,
    /// Neither within the time given, or the server has no way to tell.
    Undecided,
}

/// A client of one OXP server.
///
/// ```no_run
/// # use toolmux_core::secret::Secret;
/// # use toolmux_protocols::oxp::{OxpClient, OxpError, ToolCall};
/// # async fn example() -> Result<(), OxpError> {
/// let client = OxpClient::new("http://127.0.0.1:9627")?.key(&Secret::new("secret"))?;
/// let answered = client.call(&ToolCall::new("Math.add", &serde_json::json!({ "a": 1, "b": 2 }))).await?;
/// println!("{:?}", answered.outcome);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct OxpClient {
    http: HttpClient,
    base: Url,
    headers: HeaderMap,
    patience: Patience,
    on_wait: Option<fn(&str, Duration)>,
    form: OnceLock<Form>,
}

impl OxpClient {
    /// What was counted of the connections to the server.
    pub(crate) fn connections(&self) -> ConnectionFigures {
        self.http.connections()
    }

    /// A client of the server at `url`; `/tools` and the others are appended to it.
    pub fn new(url: &str) -> Result<Self, OxpError> {
        let base = base_of(url).ok_or_else(|| OxpError::Address(url.to_owned()))?;
        let http = HttpClient::new(HttpLimits::default());
        let mut headers = HeaderMap::new();
        headers.insert(OXP_VERSION_HEADER, HeaderValue::from_static(OXP_VERSION));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(OxpClient {
            http,
            base,
            headers,
            patience: Patience::default(),
            on_wait: None,
            form: OnceLock::new(),
        })
    }

    /// The same with a key, or a token, on every request.
    pub fn key(mut self, key: &Secret) -> Result<Self, OxpError> {
        authenticate(&mut self.headers, key).ok_or(OxpError::Key)?;
        Ok(self)
    }

    /// The same with other bounds of time and size.
    pub fn limits(mut self, limits: HttpLimits) -> Self {
        self.http = self.http.with_limits(limits);
        self
    }

    /// The same with TLS of its own; nothing leaves it to the system.
    pub fn tls(mut self, tls: Option<ClientTls>) -> Self {
        self.http = self.http.with_tls(tls);
        self
    }

    /// The same with other patience.
    pub fn patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// The same, and tells why a call is tried again because the server said so, and how long that is waited for.
    pub fn on_wait(mut self, tell: fn(&str, Duration)) -> Self {
        self.on_wait = Some(tell);
        self
    }

    /// The same with one more header on every request.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// True when the server accepts calls.
    pub async fn health(&self) -> Result<bool, OxpError> {
        Ok(self.send(Method::GET, "health", HeaderMap::new(), Vec::new()).await?.status().is_success())
    }

    /// Every version of every tool.
    pub async fn tools(&self) -> Result<ToolList, OxpError> {
        let answer = self.send(Method::GET, "tools", HeaderMap::new(), Vec::new()).await?;
        let told = StatusAnswer::of(&answer);
        let modern = answer.headers().contains_key(OXP_VERSION_HEADER);
        let body = answer.body().await?;
        if NOT_EXECUTED.contains(&told.status) {
            return Err(OxpError::Refused(decode_refusal(told, &body)));
        }
        if told.status != StatusCode::OK {
            return Err(not_oxp(told, "a list of tools was expected"));
        }
        let (list, older) = decode_list(&body).map_err(|error| not_oxp(told, error))?;
        if modern || older {
            // A server that shows neither sign is tried in both forms.
            self.form.set(if modern { Form::Bare } else { Form::Enveloped }).ok();
        }
        Ok(list)
    }

    /// Calls a tool; when the tool says that trying again may help, does so with the same call id.
    /// Dropping the future gives up.
    pub async fn call(&self, call: &ToolCall) -> Result<Answered, OxpError> {
        let call = ToolCall { call_id: Some(call_id(call)), ..call.clone() };
        let mut attempt = 1;
        loop {
            let answered = self.call_once(&call, HeaderMap::new()).await;
            let asked = match &answered {
                Ok(Answered { outcome: Outcome::Failed(error), .. }) => match error.retry {
                    Retry::Never => return answered,
                    Retry::Now => None,
                    Retry::After(after) => Some(after),
                },
                Err(OxpError::Http(HttpError::NotReached { .. })) => None,
                Err(OxpError::Refused(Refusal::Busy { retry_after, .. })) => Some(*retry_after),
                Ok(_) | Err(_) => return answered,
            };
            let pause = asked.unwrap_or(self.patience.pause * 2u32.saturating_pow(attempt - 1));
            if attempt >= self.patience.attempts || pause > self.patience.longest_pause {
                return answered;
            }
            if let (Some(tell), Some(why)) = (self.on_wait, wait_reason(&answered)) {
                tell(&why, pause);
            }
            tokio::time::sleep(jittered(pause)).await;
            attempt += 1;
        }
    }

    /// Calls a tool once, with more headers.
    pub async fn call_once(&self, call: &ToolCall, headers: HeaderMap) -> Result<Answered, OxpError> {
        let id = call_id(call);
        if let Some(form) = self.form.get() {
            return self.exchange(*form, &id, call, headers).await;
        }
        let first = self.exchange(Form::Bare, &id, call, headers.clone()).await;
        let Err(OxpError::Refused(refusal)) = &first else { return first };
        if self.form.get().is_some() {
            return first;
        }
        // The tool did not run, maybe only because the server knows the older form alone.
        let second = self.exchange(Form::Enveloped, &id, call, headers).await;
        match &second {
            Ok(_) => second,
            Err(OxpError::Refused(other)) if is_telling(other) && !is_telling(refusal) => second,
            Err(_) => first,
        }
    }

    async fn exchange(
        &self,
        form: Form,
        id: &str,
        call: &ToolCall,
        headers: HeaderMap,
    ) -> Result<Answered, OxpError> {
        let answer = self.send(Method::POST, "tools/call", headers, encode(form, id, call)).await?;
        let told = StatusAnswer::of(&answer);
        let modern = answer.headers().contains_key(OXP_VERSION_HEADER);
        let body = answer.body().await?;
        match told.status {
            StatusCode::OK => {
                let (form, answered) = decode(&body, id).map_err(|error| not_oxp(told, error))?;
                self.form.set(form).ok();
                Ok(answered)
            }
            status if NOT_EXECUTED.contains(&status) => {
                if modern {
                    self.form.set(Form::Bare).ok();
                }
                Err(OxpError::Refused(decode_refusal(told, &body)))
            }
            _ => Err(not_oxp(told, "a call was to be answered")),
        }
    }

    /// Waits until the user has decided on a challenge.
    pub async fn wait(&self, challenge: &Challenge, patience: Duration) -> Result<Waited, OxpError> {
        let Some(address) = &challenge.check_url else { return Ok(Waited::Undecided) };
        let url: Url = address.parse().map_err(|_| OxpError::Address(address.clone()))?;
        let watching = async {
            loop {
                match self.check(&url).await? {
                    Waited::Undecided => tokio::time::sleep(self.patience.poll).await,
                    decided => return Ok(decided),
                }
            }
        };
        tokio::time::timeout(patience, watching).await.unwrap_or(Ok(Waited::Undecided))
    }

    async fn check(&self, url: &Url) -> Result<Waited, OxpError> {
        #[derive(Deserialize)]
        struct Check {
            status: String,
        }
        // Our key is for the server itself and for nobody it may point at.
        let headers =
            if url.origin() == self.base.origin() { self.headers.clone() } else { HeaderMap::new() };
        let answer = self.http.send(Method::GET, url, headers, Vec::new()).await?;
        let told = StatusAnswer::of(&answer);
        let check: Check =
            serde_json::from_slice(&answer.body().await?).map_err(|error| not_oxp(told, error))?;
        match check.status.as_str() {
            "completed" => Ok(Waited::Completed),
            "failed" => Ok(Waited::Failed),
            "pending" => Ok(Waited::Undecided),
            other => Err(not_oxp(told, format!("`{other}` is not a status of a challenge"))),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        more: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Answer, OxpError> {
        let url = self.base.join(path).map_err(|_| OxpError::Address(self.base.to_string()))?;
        let mut headers = self.headers.clone();
        headers.extend(more);
        Ok(self.http.send(method, &url, headers, body).await?)
    }
}

/// Says something of this very call, which a server that did not understand the body cannot.
fn is_telling(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::Challenged { .. } => true,
        Refusal::Invalid { parameters } => parameters.iter().any(|fault| !fault.parameter.is_empty()),
        _ => false,
    }
}

fn call_id(call: &ToolCall) -> String {
    call.call_id.clone().unwrap_or_else(|| Uuid::now_v7().to_string())
}

/// A token goes where tokens go; a plain key goes there too, because public servers look for it there.
fn authenticate(headers: &mut HeaderMap, key: &Secret) -> Option<()> {
    headers.insert(header::AUTHORIZATION, sensitive(&format!("Bearer {}", key.expose()))?);
    let is_token = key.expose().starts_with("eyJ") && key.expose().split('.').count() == 3;
    if !is_token {
        headers.insert("oxp-api-key", sensitive(key.expose())?);
    }
    Some(())
}

/// Up to a quarter more, so that many clients do not come back at one moment.
fn jittered(pause: Duration) -> Duration {
    let share = f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX);
    pause.mul_f64(1.0 + share / 4.0)
}

/// Why a server wants a call to be tried later, in its words.
fn wait_reason(answered: &Result<Answered, OxpError>) -> Option<String> {
    match answered {
        Ok(Answered { outcome: Outcome::Failed(error), .. }) => Some(error.message.public.clone()),
        Err(OxpError::Refused(refusal)) => Some(refusal.message().public),
        Ok(_) | Err(_) => None,
    }
}

fn not_oxp(StatusAnswer { status, retry_after }: StatusAnswer, what: impl ToString) -> OxpError {
    OxpError::NotOxp { status, retry_after, what: what.to_string() }
}
