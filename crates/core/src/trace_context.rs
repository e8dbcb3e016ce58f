//! W3C trace context: which trace a call belongs to, read strictly and written for sources. What a caller names is
//! linked, unless the configuration trusts it. Nothing is made unless telemetry is configured.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::BoxFuture;
use crate::hex::{from_hex, to_hex};

/// The longest `tracestate` that is passed on.
const LONGEST_STATE: usize = 512;

tokio::task_local! {
    static CURRENT: OutgoingTrace;
}

/// What the configuration says of traces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TraceSettings {
    /// Whether calls are traced at all.
    pub enabled: bool,
    /// The share of traces that are sampled, from 0 to 1; failures are reported besides.
    pub sample: f64,
    /// Whether a call continues the trace that its caller names; otherwise that trace is linked.
    pub trust: bool,
}

/// A span of a trace, as `traceparent` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TraceContext {
    /// The id of the whole trace, never zero.
    pub trace: [u8; 16],
    /// The id of the span, never zero.
    pub span: [u8; 8],
    /// Whether the trace is sampled.
    pub sampled: bool,
}

impl TraceContext {
    /// Reads a `traceparent`. Digits must be lower case and ids not zero; a version that is not known yet may have more
    /// after the flags.
    pub fn read(traceparent: &str) -> Option<Self> {
        let mut parts = traceparent.splitn(5, '-');
        let version = digits::<1>(parts.next()?)?;
        let (trace, span, flags) =
            (digits(parts.next()?)?, digits(parts.next()?)?, digits::<1>(parts.next()?)?);
        let is_known = version == [0] && parts.next().is_none();
        let is_later = version != [0] && version != [0xff];
        let is_good = (is_known || is_later) && trace != [0; 16] && span != [0; 8];
        is_good.then_some(TraceContext { trace, span, sampled: flags[0] & 1 == 1 })
    }

    /// The `traceparent` of this span.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-{:02x}", to_hex(&self.trace), to_hex(&self.span), u8::from(self.sampled))
    }
}

impl From<TraceContext> for String {
    fn from(context: TraceContext) -> String {
        context.traceparent()
    }
}

impl TryFrom<String> for TraceContext {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        TraceContext::read(&text).ok_or("not a `traceparent`")
    }
}

/// The span of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSpan {
    /// The span itself, which sources are given as their parent.
    pub context: TraceContext,
    /// The span above it: that of the calling tool, or of a caller that is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<[u8; 8]>,
    /// The span that a caller named who is not trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<TraceContext>,
}

impl CallSpan {
    /// The span of a call whose caller named `given`; none when calls are not traced.
    pub(crate) fn begin(settings: TraceSettings, given: Option<&str>) -> Option<Self> {
        if !settings.enabled {
            return None;
        }
        let given = given.and_then(TraceContext::read);
        Some(match given.filter(|_| settings.trust) {
            Some(parent) => CallSpan::below(parent),
            None => {
                let trace = Uuid::new_v4().into_bytes();
                let context =
                    TraceContext { trace, span: new_span(), sampled: is_sampled(trace, settings.sample) };
                CallSpan { context, parent: None, link: given }
            }
        })
    }

    /// The span of a call that belongs to another.
    pub(crate) fn below(parent: TraceContext) -> Self {
        let context = TraceContext { span: new_span(), ..parent };
        CallSpan { context, parent: Some(parent.span), link: None }
    }
}

/// What a source is given of the trace of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingTrace {
    /// The span of the call.
    pub context: TraceContext,
    /// The `tracestate` of a caller whose trace goes on.
    pub state: Option<Box<str>>,
}

impl OutgoingTrace {
    /// State belongs to the trace it came with, so that of a trace which is only linked is not passed on.
    pub(crate) fn of(span: &CallSpan, state: Option<&str>) -> Self {
        let is_good = |state: &&str| !state.is_empty() && state.len() <= LONGEST_STATE && is_printable(state);
        let state = state.filter(|_| span.parent.is_some()).filter(is_good).map(Box::from);
        OutgoingTrace { context: span.context, state }
    }
}

/// The trace of the call that this task runs, for what is sent on its behalf.
pub fn current() -> Option<OutgoingTrace> {
    CURRENT.try_with(Clone::clone).ok()
}

/// Runs what is asked of a source under the trace of its call.
pub(crate) fn within<'a, T: 'a>(trace: Option<OutgoingTrace>, asking: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
    match trace {
        Some(trace) => Box::pin(CURRENT.scope(trace, asking)),
        None => asking,
    }
}

fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_lower = text.bytes().all(|byte| !byte.is_ascii_uppercase());
    from_hex(text).filter(|_| is_lower)?.try_into().ok()
}

fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Of a random id the bytes that the layout of version 4 does not fix.
fn new_span() -> [u8; 8] {
    let random = Uuid::new_v4().into_bytes();
    let mut span = [0; 8];
    span[..4].copy_from_slice(&random[..4]);
    span[4..].copy_from_slice(&random[12..]);
    // Zero stands for no span.
    span[7] |= u8::from(span == [0; 8]);
    span
}

/// By the last seven bytes, which are random: every system that sees the trace decides alike.
fn is_sampled(trace: [u8; 16], share: f64) -> bool {
    let random = trace[9..].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    (random as f64) < share * (1_u64 << 56) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const ON: TraceSettings = TraceSettings { enabled: true, sample: 1.0, trust: false };

    #[test]
    fn a_traceparent_is_written_as_it_was_read() {
        let unsampled = GIVEN.replace("-01", "-00");
        for text in [GIVEN, &unsampled] {
            assert_eq!(TraceContext::read(text).expect("good").traceparent(), text);
        }
        let later = GIVEN.replacen("00-", "01-", 1) + "-more";
        assert_eq!(TraceContext::read(&later).expect("a later version").traceparent(), GIVEN);
    }

    #[test]
    fn what_is_not_a_traceparent_is_not_read() {
        let zero_trace = GIVEN.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32));
        let zero_span = GIVEN.replace("b7ad6b7169203331", &"0".repeat(16));
        let (upper, more) = (GIVEN.to_uppercase(), format!("{GIVEN}-more"));
        let version = GIVEN.replacen("00-", "ff-", 1);
        for text in ["", "00-a-b-01", "é", &zero_trace, &zero_span, &upper, &more, &version] {
            assert_eq!(TraceContext::read(text), None, "{text}");
        }
    }

    #[test]
    fn the_trace_of_a_caller_is_linked_unless_it_is_trusted() {
        let given = TraceContext::read(GIVEN).expect("good");
        let linked = CallSpan::begin(ON, Some(GIVEN)).expect("traced");
        assert_eq!((linked.parent, linked.link), (None, Some(given)));
        assert_ne!(linked.context.trace, given.trace);
        assert_eq!(OutgoingTrace::of(&linked, Some("a=1")).state, None);
        let trusted =
            CallSpan::begin(TraceSettings { trust: true, sample: 0.0, ..ON }, Some(GIVEN)).expect("traced");
        assert_eq!((trusted.parent, trusted.link), (Some(given.span), None));
        assert_eq!((trusted.context.trace, trusted.context.sampled), (given.trace, true));
        assert_eq!(OutgoingTrace::of(&trusted, Some("a=1")).state.as_deref(), Some("a=1"));
        assert_eq!(OutgoingTrace::of(&trusted, Some("a=\r\n")).state, None);
    }

    #[test]
    fn nothing_is_traced_unless_it_is_configured() {
        assert_eq!(CallSpan::begin(TraceSettings::default(), Some(GIVEN)), None);
    }

    #[test]
    fn the_share_of_traces_that_are_sampled_is_the_one_configured() {
        let sampled = |sample| {
            let one = |_: &u32| {
                CallSpan::begin(TraceSettings { sample, ..ON }, None).is_some_and(|s| s.context.sampled)
            };
            (0..10_000_u32).filter(one).count()
        };
        assert_eq!((sampled(0.0), sampled(1.0)), (0, 10_000));
        assert!((1_500..2_500).contains(&sampled(0.2)));
    }
}
