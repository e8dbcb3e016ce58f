//! The walk of `toolmux demo`: shows each request as a curl line, sends it, and shows the answer.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::io::AsyncBufReadExt;
use toolmux_http::client::{HttpClient, HttpLimits};
use toolmux_http::serve::curl::quoted;
use toolmux_http::sse::EVENT_STREAM;

use super::steps::{DemoRequest, DemoStep, KEPT, Keeps};
use crate::cli::failure::Failure;
use crate::cli::terminal::{Terminal, note, print_line};

/// How long an answer may take, with all its events.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest answer that is read.
const ANSWER_BYTES: usize = 1 << 20;

/// The colours of a title and of a command on a terminal.
const BOLD: &str = "1";
const GREEN: &str = "32";

/// Whether somebody reads along.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// Waits for Enter between two steps.
    Paused,
    Straight,
}

impl Pace {
    pub(super) fn of_process() -> Self {
        let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        if terminal { Pace::Paused } else { Pace::Straight }
    }
}

pub(super) struct Walk<'a> {
    base: &'a str,
    terminal: Terminal,
    pace: Pace,
    http: HttpClient,
    /// What an earlier answer gave for the requests after it.
    kept: String,
    is_as_expected: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(base: &'a str, terminal: Terminal, pace: Pace) -> Self {
        let limits =
            HttpLimits { timeout: ANSWER_TIMEOUT, body_bytes: ANSWER_BYTES, ..HttpLimits::default() };
        Walk {
            base,
            terminal,
            pace,
            http: HttpClient::new(limits),
            kept: String::new(),
            is_as_expected: true,
        }
    }

    /// Dropping the future ends the walk; the request that is on its way is cut.
    pub(super) async fn run(&mut self, steps: &[DemoStep]) -> Result<(), Failure> {
        for (index, step) in steps.iter().enumerate() {
            let title = format!("{}/{} {}", index + 1, steps.len(), step.title);
            print_line(&format!("\n{}", self.terminal.painted(BOLD, &title)));
            for request in &step.requests {
                self.exchange(request).await?;
            }
            print_line(&format!("→ {}", step.look_at));
            if self.pace == Pace::Paused && index + 1 < steps.len() {
                self.pause().await;
            }
        }
        Ok(())
    }

    /// Whether every answer so far was as expected.
    pub(super) fn is_as_expected(&self) -> bool {
        self.is_as_expected
    }

    async fn exchange(&mut self, request: &DemoRequest) -> Result<(), Failure> {
        let (url, headers) = (self.url(request), self.headers(request)?);
        let body = request.body.as_ref().map(Value::to_string).unwrap_or_default();
        print_line(&self.terminal.painted(GREEN, &format!("$ {}", self.curl(request))));
        let target = url.parse().map_err(|error| Failure::refused(anyhow::Error::new(error)))?;
        let answer = self.http.send(request.method.clone(), &target, headers, body).await;
        let answer = answer.map_err(Failure::refused)?;
        let status = answer.status();
        let session =
            answer.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        let body = answer.body().await.map_err(Failure::refused)?;
        let text = String::from_utf8_lossy(&body);
        print_line(text.trim_end());
        if !status.is_success() {
            print_line(&format!("(HTTP {})", status.as_u16()));
        }
        if let Some(kept) = kept(request.keeps, &text, session) {
            self.kept = kept;
        }
        if !text.contains(request.expected) {
            self.is_as_expected = false;
            note(&format!("warning: the demo expects `{}` in this answer", request.expected));
        }
        Ok(())
    }

    fn url(&self, request: &DemoRequest) -> String {
        format!("{}{}", self.base, request.path.replace(KEPT, &self.kept))
    }

    fn headers(&self, request: &DemoRequest) -> Result<HeaderMap, Failure> {
        let header = |(name, value): &(&'static str, String)| {
            let value = HeaderValue::from_str(&value.replace(KEPT, &self.kept)).map_err(Failure::refused)?;
            Ok((HeaderName::from_static(name), value))
        };
        request.headers.iter().map(header).collect()
    }

    /// The same request as a command to paste.
    fn curl(&self, request: &DemoRequest) -> String {
        let streams = request.headers.iter().any(|(_, value)| value == EVENT_STREAM);
        let mut line = format!("curl {} {}", if streams { "-sN" } else { "-s" }, quoted(&self.url(request)));
        for (name, value) in &request.headers {
            let header = format!("{name}: {}", value.replace(KEPT, &self.kept));
            write!(line, " -H {}", quoted(&header)).expect("a text takes all");
        }
        if let Some(body) = &request.body {
            write!(line, " -d {}", quoted(&body.to_string())).expect("a text takes all");
        }
        line
    }

    async fn pause(&mut self) {
        note("Enter: next step, Ctrl-C: stop");
        let mut line = String::new();
        if tokio::io::BufReader::new(tokio::io::stdin())
            .read_line(&mut line)
            .await
            .is_ok_and(|bytes| bytes == 0)
        {
            // Nobody is there any more.
            self.pace = Pace::Straight;
        }
    }
}

fn kept(keeps: Keeps, text: &str, session: Option<String>) -> Option<String> {
    match keeps {
        Keeps::Nothing => None,
        Keeps::SessionId => session,
        Keeps::TaskId => {
            let answer: Value = serde_json::from_str(text).ok()?;
            answer.get("task_id")?.as_str().map(str::to_owned)
        }
    }
}
