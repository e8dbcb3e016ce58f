//! We ask as an ATS client: list, call, follow, cancel.

use std::collections::VecDeque;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::value::RawValue;
use toolmux_core::ports::figures::ConnectionFigures;
use toolmux_core::secret::Secret;
use toolmux_http::client::{
    Answer, ClientTls, HttpClient, HttpError, HttpLimits, base_of, retry_after, sensitive,
};
use toolmux_http::sse::{Decoder, EVENT_STREAM, TooLarge};
use url::Url;

use super::listing::{TaskPage, TaskSummary};
use super::wire::{AtsTool, RefusalDocument, TaskDocument};

/// The largest event.
const EVENT_BYTES: usize = 64 << 20;
/// How often a broken stream is taken up again.
const RESUMES: u32 = 5;
/// The pause before it is.
const RESUME_PAUSE: Duration = Duration::from_millis(200);

/// The pause before a task that still runs is looked at again, where the server tells its state once per request.
const POLL_PAUSE: Duration = Duration::from_millis(200);

/// Why a client got no answer.
#[derive(Debug, thiserror::Error)]
pub enum AtsError {
    /// The address is not one.
    #[error("`{0}` is not the address of an ATS server")]
    Address(String),
    /// The key has characters that a header cannot carry.
    #[error("the key has characters that a header cannot carry")]
    Key,
    /// The exchange failed.
    #[error("the request to the server failed")]
    Http(#[from] HttpError),
    /// The server says no.
    #[error("the server answered {status}: {detail}")]
    Refused {
        status: StatusCode,
        /// What it says.
        detail: String,
        /// When to try again, if it says so.
        retry_after: Option<Duration>,
        /// All that it says.
        document: Box<RefusalDocument>,
    },
    /// The task is not known there, or not any more.
    #[error("the task is not known there: {0}")]
    NoSuchTask(String),
    /// The server answered something else than ATS.
    #[error("the answer is not ATS: {0}")]
    NotAts(String),
}

impl From<TooLarge> for AtsError {
    fn from(error: TooLarge) -> Self {
        AtsError::NotAts(error.to_string())
    }
}

/// A client of one ATS server. Cloning shares the connections.
///
/// ```no_run
/// # use toolmux_core::secret::Secret;
/// # use toolmux_protocols::ats::{AtsClient, AtsError};
/// # async fn example() -> Result<(), AtsError> {
/// let client = AtsClient::new("http://127.0.0.1:9627")?.key(&Secret::new("secret"))?;
/// for tool in client.tools(None).await? {
///     println!("{}", tool.name);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AtsClient {
    http: HttpClient,
    base: Url,
    headers: HeaderMap,
}

impl AtsClient {
    /// What was counted of the connections to the server.
    pub(crate) fn connections(&self) -> ConnectionFigures {
        self.http.connections()
    }

    /// A client of the server at `url`.
    pub fn new(url: &str) -> Result<Self, AtsError> {
        let base = base_of(url).ok_or_else(|| AtsError::Address(url.to_owned()))?;
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(AtsClient { http: HttpClient::new(HttpLimits::default()), base, headers })
    }

    /// The same with a key on every request.
    pub fn key(mut self, key: &Secret) -> Result<Self, AtsError> {
        let value = sensitive(&format!("Bearer {}", key.expose())).ok_or(AtsError::Key)?;
        self.headers.insert(header::AUTHORIZATION, value);
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

    /// True when the server accepts calls.
    pub async fn health(&self) -> Result<bool, AtsError> {
        Ok(self.get(&["health"], HeaderMap::new()).await?.status().is_success())
    }

    /// The tools, or those of one agent.
    pub async fn tools(&self, agent: Option<&str>) -> Result<Vec<AtsTool<'static>>, AtsError> {
        let mut path = vec!["get_tool"];
        path.extend(agent);
        let body = good(self.get(&path, HeaderMap::new()).await?).await?.body().await?;
        serde_json::from_slice(&body).map_err(|error| AtsError::NotAts(error.to_string()))
    }

    /// Starts a task; gives its id. `key` makes the same call again the same task, where the server knows
    /// such keys.
    pub async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        key: Option<&str>,
    ) -> Result<String, AtsError> {
        #[derive(Deserialize)]
        struct Started {
            task_id: String,
        }
        let mut headers = self.headers.clone();
        if let Some(key) = key.and_then(|key| HeaderValue::from_str(key).ok()) {
            headers.insert("idempotency-key", key);
        }
        let url = self.url(&["call_tool", tool]);
        let answer = self.http.send(Method::POST, &url, headers, arguments.get().to_owned()).await?;
        let body = good(answer).await?.body().await?;
        let started: Result<Started, _> = serde_json::from_slice(&body);
        started.map(|started| started.task_id).map_err(|error| AtsError::NotAts(error.to_string()))
    }

    /// What happens to a task.
    pub fn follow(&self, task: &str) -> Followed {
        Followed {
            client: self.clone(),
            task: task.to_owned(),
            line: None,
            seen: None,
            waiting: VecDeque::new(),
            resumes: RESUMES,
            polls: false,
        }
    }

    /// Cancels a task; gives it as it is then.
    pub async fn cancel(&self, task: &str) -> Result<TaskDocument, AtsError> {
        #[derive(Deserialize)]
        struct Cancelled {
            data: TaskDocument,
        }
        let body = good(self.get(&["cancel", task], HeaderMap::new()).await?).await?.body().await?;
        let cancelled: Result<Cancelled, _> = serde_json::from_slice(&body);
        cancelled.map(|cancelled| cancelled.data).map_err(|error| AtsError::NotAts(error.to_string()))
    }

    /// A page of the caller's tasks, newest first and older than `before`, and what to name for the next page. Only
    /// toolmux has it.
    pub async fn tasks(&self, before: Option<&str>) -> Result<(Vec<TaskSummary>, Option<String>), AtsError> {
        let mut url = self.url(&["tasks"]);
        if let Some(before) = before {
            url.query_pairs_mut().append_pair("before", before);
        }
        let answer = self.http.send(Method::GET, &url, self.headers.clone(), "").await?;
        let body = good(answer).await?.body().await?;
        let page: TaskPage =
            serde_json::from_slice(&body).map_err(|error| AtsError::NotAts(error.to_string()))?;
        Ok((page.tasks, page.next))
    }

    /// A task as it is now. Only toolmux has it.
    pub async fn task(&self, task: &str) -> Result<TaskSummary, AtsError> {
        let body = good(self.get(&["tasks", task], HeaderMap::new()).await?).await?.body().await?;
        serde_json::from_slice(&body).map_err(|error| AtsError::NotAts(error.to_string()))
    }

    async fn get(&self, path: &[&str], more: HeaderMap) -> Result<Answer, AtsError> {
        let mut headers = self.headers.clone();
        headers.extend(more);
        Ok(self.http.send(Method::GET, &self.url(path), headers, "").await?)
    }

    fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }
}

/// Events of one task, over as many connections as it takes.
#[derive(Debug)]
pub struct Followed {
    client: AtsClient,
    task: String,
    line: Option<(Answer, Decoder)>,
    seen: Option<String>,
    waiting: VecDeque<TaskDocument>,
    resumes: u32,
    /// The server gives one document for each request: the last one did not say that the task had ended.
    polls: bool,
}

impl Followed {
    /// The next event. After one that ended the task there is none worth asking for.
    pub async fn next(&mut self) -> Result<TaskDocument, AtsError> {
        loop {
            if let Some(document) = self.waiting.pop_front() {
                return Ok(document);
            }
            match self.read().await {
                Ok(()) => {}
                Err(AtsError::Http(_)) if self.resumes > 0 => {
                    self.resumes -= 1;
                    self.line = None;
                    tokio::time::sleep(RESUME_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn read(&mut self) -> Result<(), AtsError> {
        let (answer, decoder) = match &mut self.line {
            Some(line) => line,
            None => {
                let answer = self.ask().await?;
                if is_json(&answer) {
                    let document = one_document(&answer.body().await?)?;
                    self.polls = !document.has_ended();
                    self.waiting.push_back(document);
                    return Ok(());
                }
                self.line.insert((answer, Decoder::new(EVENT_BYTES)))
            }
        };
        let Some(piece) = answer.piece().await? else {
            return self.broken();
        };
        for event in decoder.push(&piece)? {
            if event.event == "error" {
                return Err(AtsError::NoSuchTask(event.data));
            }
            let document = serde_json::from_str(&event.data);
            self.waiting.push_back(document.map_err(|error| AtsError::NotAts(error.to_string()))?);
            self.seen = event.id.or(self.seen.take());
        }
        Ok(())
    }

    /// Events are asked for. Newer servers of this protocol do not look and give one document.
    async fn ask(&self) -> Result<Answer, AtsError> {
        if self.polls {
            tokio::time::sleep(POLL_PAUSE).await;
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        if let Some(seen) = self.seen.as_ref().and_then(|seen| HeaderValue::from_str(seen).ok()) {
            headers.insert("last-event-id", seen);
        }
        good(self.client.get(&["callback", &self.task], headers).await?).await
    }

    /// The stream ended before the task did.
    fn broken(&mut self) -> Result<(), AtsError> {
        if self.resumes == 0 {
            return Err(AtsError::NotAts("the events ended before the task did".to_owned()));
        }
        self.resumes -= 1;
        self.line = None;
        Ok(())
    }
}

fn is_json(answer: &Answer) -> bool {
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("application/json"))
}

/// The document of a task, bare or in `data` as the answer to a cancellation has it.
fn one_document(body: &[u8]) -> Result<TaskDocument, AtsError> {
    #[derive(Deserialize)]
    struct InData {
        data: TaskDocument,
    }
    serde_json::from_slice(body).or_else(|error| match serde_json::from_slice(body) {
        Ok(InData { data }) => Ok(data),
        Err(_) => Err(AtsError::NotAts(error.to_string())),
    })
}

/// An answer that is not a refusal.
async fn good(answer: Answer) -> Result<Answer, AtsError> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let retry_after = retry_after(answer.headers());
    let body = answer.body().await?;
    let document: RefusalDocument = serde_json::from_slice(&body).unwrap_or_default();
    let detail = match &document.detail {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => String::from_utf8_lossy(&body).chars().take(200).collect(),
        other => other.to_string(),
    };
    Err(AtsError::Refused { status, detail, retry_after, document: Box::new(document) })
}
