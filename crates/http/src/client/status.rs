//! What an HTTP status says about whether the tool ran. Only the protocol can define that a status means "not executed":
//! each source over HTTP has a table of those, and every other status may come after the tool ran. One status means the
//! same for all of them: 429, by which a server limits how often it is asked (RFC 6585, 4).

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
    /// The protocol says that nothing ran.
    NotRun,
    /// The same, because there were too many.
    Busy,
    /// Nothing is known.
    MayHaveRun,
}

/// `not_executed` is the table of the protocol.
fn class(status: StatusCode, not_executed: &[StatusCode]) -> Class {
    if status == StatusCode::TOO_MANY_REQUESTS {
        Class::Busy
    } else if not_executed.contains(&status) {
        Class::NotRun
    } else {
        // Also 4xx, of which frameworks and gateways answer some when the work is done or has begun (406, 408, 409, 424),
        // and redirects, which many servers answer to a request that they have acted upon.
        Class::MayHaveRun
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

    /// What it means for a call that was to be answered in the words of a protocol, and was not. `not_executed` are the
    /// statuses by which the protocol says that a call was not executed.
    pub fn error(self, not_executed: &[StatusCode], message: Message) -> SourceError {
        match (class(self.status, not_executed), self.retry_after) {
            (Class::NotRun, retry_after) => {
                SourceError::Refused(Refusal::Unavailable { message, retry_after })
            }
            (Class::Busy, retry_after) => busy(message, retry_after),
            (Class::MayHaveRun, None) => SourceError::Lost(message),
            (Class::MayHaveRun, Some(retry_after)) => {
                let public = format!("{}, and asks to wait for {retry_after:?}", message.public);
                SourceError::LostWithRetryAfter { message: Message { public, ..message }, retry_after }
            }
        }
    }

    /// The same for a call that was not sent, because a request which had to come first was answered so: whatever the
    /// status says of that one, the tool did not run. A server that failed, and names no time, may be asked again at once.
    pub fn error_before_call(self, message: Message) -> SourceError {
        match self.retry_after {
            retry_after if self.status == StatusCode::TOO_MANY_REQUESTS => busy(message, retry_after),
            None if self.status.is_server_error() => SourceError::NotReached(message),
            retry_after => SourceError::Refused(Refusal::Unavailable { message, retry_after }),
        }
    }
}

fn busy(message: Message, retry_after: Option<Duration>) -> SourceError {
    SourceError::Refused(Refusal::Busy { message, retry_after: retry_after.unwrap_or(BUSY_PAUSE) })
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
    fn only_a_table_of_the_protocol_says_that_nothing_ran() {
        for number in 100..600 {
            let status = StatusCode::from_u16(number).unwrap();
            let expect = if number == 429 { Class::Busy } else { Class::MayHaveRun };
            assert_eq!(class(status, &[]), expect, "{number}");
            let expect = if number == 429 { Class::Busy } else { Class::NotRun };
            assert_eq!(class(status, &[status]), expect, "{number}");
        }
    }

    #[test]
    fn what_came_before_a_call_never_ran_it() {
        for number in 100..600 {
            for retry_after in [None, Some(Duration::from_secs(7))] {
                let answer = StatusAnswer { status: StatusCode::from_u16(number).unwrap(), retry_after };
                let error = answer.error_before_call(Message::public("no"));
                let is_true = matches!(error, SourceError::NotReached(_) | SourceError::Refused(_));
                assert!(is_true, "{number}: {error:?}");
                let may_repeat = matches!(error, SourceError::NotReached(_));
                assert!(!may_repeat || retry_after.is_none(), "{number}: the pause is dropped");
            }
        }
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
