//! What an HTTP status says about whether the tool ran: the one table that every source over HTTP decides by.
//! A tool "did not run" only where HTTP or the protocol defines the status so; whatever else answers may have run it.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode, header};
use toolmux_core::message::Message;
use toolmux_core::ports::source::SourceError;
use toolmux_core::refusal::Refusal;

use super::answer::Answer;

/// The longest a server may ask us to wait.
const LONGEST_RETRY_AFTER: Duration = Duration::from_hours(1);
/// How long a caller waits before it asks a busy server again that named no time.
const BUSY_PAUSE: Duration = Duration::from_secs(1);

/// What a status says that came without an answer in the words of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// The request was turned down before anything ran.
    NotRun,
    /// The same, because there were too many.
    Busy,
    /// Nothing is known.
    MayHaveRun,
}

/// `defined` are statuses by which the protocol itself says that a call was not executed.
fn class(status: StatusCode, defined: &[StatusCode]) -> Class {
    match status.as_u16() {
        429 => Class::Busy,
        _ if defined.contains(&status) => Class::NotRun,
        // 406 is found out when a result is written, by some frameworks. 408 is what Envoy says of a server that is
        // silent for too long. 409 and 424 say that a request was not completed, not that it was not begun.
        406 | 408 | 409 | 424 => Class::MayHaveRun,
        // 307 and 308: "send the same request there". After 301, 302 and 303 a client goes on with GET: many servers
        // answer so to a form that they have acted upon. 4xx: "cannot or will not process the request", and one that
        // nobody knows counts as 400 (RFC 9110, 15).
        307 | 308 | 400..=499 => Class::NotRun,
        // A failure in the middle of the work, or a gateway that lost the server behind it: 502, 503 and 504 too.
        _ => Class::MayHaveRun,
    }
}

/// A status, and the pause that came with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusAnswer {
    pub status: StatusCode,
    pub retry_after: Option<Duration>,
}

impl StatusAnswer {
    pub fn of(answer: &Answer) -> Self {
        let status = answer.status();
        // Most answers are good ones, which ask nobody to wait.
        let retry_after = if status.is_success() { None } else { retry_after(answer.headers()) };
        StatusAnswer { status, retry_after }
    }

    /// What it means for a call that was to be answered in the words of a protocol, and was not.
    pub fn error(self, defined: &[StatusCode], message: Message) -> SourceError {
        let retry_after = self.retry_after;
        match class(self.status, defined) {
            Class::NotRun => SourceError::Refused(Refusal::Unavailable { message, retry_after }),
            Class::Busy => SourceError::Refused(Refusal::Busy {
                message,
                retry_after: retry_after.unwrap_or(BUSY_PAUSE),
            }),
            Class::MayHaveRun => SourceError::Lost(match retry_after {
                Some(pause) => {
                    let public = format!("{}, and asks to wait for {pause:?}", message.public);
                    Message { public, ..message }
                }
                None => message,
            }),
        }
    }
}

/// When a server wants to be asked again: in so many seconds, or at a date.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let said = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let pause = match said.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let date = httpdate::parse_http_date(said).ok()?;
            date.duration_since(SystemTime::now()).unwrap_or_default()
        }
    };
    Some(pause.min(LONGEST_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(said: &str, expect: Option<std::ops::RangeInclusive<u64>>) {
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, said.parse().unwrap());
        let pause = retry_after(&headers).map(|pause| pause.as_secs());
        assert_eq!(pause.is_some(), expect.is_some(), "{said}: {pause:?}");
        assert!(pause.is_none_or(|pause| expect.unwrap().contains(&pause)), "{said}: {pause:?}");
    }

    #[test]
    fn a_pause_is_told_in_seconds_or_as_a_date() {
        let date = |ahead: u64| httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(ahead));
        check("7", Some(7..=7));
        check(" 0 ", Some(0..=0));
        check("999999", Some(3600..=3600));
        check(&date(100), Some(90..=100));
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(0..=0));
        check("soon", None);
        check("-1", None);
        check("1.5", None);
    }
}
