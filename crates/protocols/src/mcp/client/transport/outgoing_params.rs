//! The parameters of our requests: the caller's own where it speaks MCP, with `_meta` as the server's era
//! wants it.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::trace_context;

use super::follow::Following;
use crate::mcp::members::Members;
use crate::mcp::revision::Revision;
use crate::mcp::wire::{CAPABILITIES, CLIENT_INFO, Capabilities, LOG_LEVEL, US_WRITTEN, VERSION};

static MODERN: LazyLock<String> = LazyLock::new(|| format!("\"{}\"", Revision::MODERN.text()));

/// What a caller sent, and what a server gets instead of some of it.
#[derive(Debug, Default)]
pub(in crate::mcp) struct OutgoingParams<'a> {
    sent: Members<'a>,
    meta: Members<'a>,
    replaced: Vec<(&'static str, Cow<'a, str>)>,
}

impl<'a> OutgoingParams<'a> {
    pub(in crate::mcp) fn by(caller: Option<&'a RawValue>) -> Self {
        let sent = Members::read_or_empty(caller);
        OutgoingParams { meta: Members::read_or_empty(sent.read_as("_meta")), sent, replaced: Vec::new() }
    }

    /// The same with the JSON text of a member, in its place or at the end.
    pub(in crate::mcp) fn with(mut self, key: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        self.put(key, text);
        self
    }

    pub(in crate::mcp) fn put(&mut self, key: &'static str, text: impl Into<Cow<'a, str>>) {
        self.replaced.retain(|(known, _)| *known != key);
        self.replaced.push((key, text.into()));
    }

    /// What the caller answered to questions of the server, and the state to give back.
    pub(in crate::mcp) fn answer(&mut self, answers: &RawValue, state: Option<&str>) {
        self.put("inputResponses", answers.get().to_owned());
        self.replaced.retain(|(key, _)| *key != "requestState");
        if let Some(state) = state {
            self.put("requestState", json!(state).to_string());
        }
    }

    /// True when the caller speaks the stateless revision.
    pub(in crate::mcp) fn is_modern(&self) -> bool {
        self.meta.get(VERSION).is_some_and(|version| version.get() != "null")
    }

    /// What the caller can do.
    pub(in crate::mcp) fn capabilities(&self) -> Capabilities {
        Capabilities::new(self.meta.get(CAPABILITIES))
    }

    /// Parameters for a server of this revision.
    pub(in crate::mcp) fn text(&self, revision: Revision, id: u64, following: &Following<'_>) -> String {
        let meta = self.meta(revision, id, following);
        let mut changes = Vec::with_capacity(8);
        let unknown: &[_] = if revision.is_modern() { &[] } else { &["inputResponses", "requestState"] };
        changes.extend(unknown.iter().map(|key| (*key, None)));
        let replaced = self.replaced.iter().filter(|(key, _)| !unknown.contains(key));
        changes.extend(replaced.map(|(key, text)| (*key, Some(&**text))));
        changes.push(("_meta", meta.as_deref()));
        self.sent.text_with(&changes)
    }

    fn meta(&self, revision: Revision, id: u64, following: &Following<'_>) -> Option<String> {
        let token = following.hears().then(|| id.to_string());
        let token = ("progressToken", token.as_deref());
        let trace = trace_context::current();
        let quoted = trace.map(|trace| {
            let parent = json!(trace.context.traceparent()).to_string();
            (parent, trace.state.map(|state| json!(state).to_string()))
        });
        // Without a trace of ours the caller's own is passed on, as every other member is.
        let traced = quoted
            .as_ref()
            .map(|(parent, state)| [("traceparent", Some(&**parent)), ("tracestate", state.as_deref())]);
        let traced = traced.as_ref().map_or(&[][..], |traced| traced);
        let meta = if revision.is_modern() {
            let declared = declared(&following.capabilities);
            let ours = [(VERSION, &**MODERN), (CAPABILITIES, &*declared), (CLIENT_INFO, US_WRITTEN.get())];
            let [version, capabilities, info] = ours.map(|(key, text)| (key, Some(text)));
            self.meta.text_with(&[&[token, version, capabilities, info], traced].concat())
        } else {
            let theirs = [VERSION, CAPABILITIES, CLIENT_INFO, LOG_LEVEL].map(|key| (key, None));
            self.meta.text_with(&[[token].as_slice(), &theirs, traced].concat())
        };
        (meta != "{}").then_some(meta)
    }
}

/// What the caller can do, less the extensions that we do not carry.
fn declared(capabilities: &Capabilities) -> Cow<'_, str> {
    let Some(text) = capabilities.declared() else { return Cow::Borrowed("{}") };
    match Members::read(text) {
        Some(declared) if declared.has("extensions") => {
            Cow::Owned(declared.text_with(&[("extensions", None)]))
        }
        Some(_) => Cow::Borrowed(text.get()),
        None => Cow::Borrowed("{}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use toolmux_core::json_text::RawJson;
    use toolmux_core::progress::Progress;

    use super::*;

    static CALLER: LazyLock<Arc<str>> = LazyLock::new(|| "somebody".into());

    fn raw(text: &str) -> RawJson {
        serde_json::from_str(text).unwrap()
    }

    /// What a server of a revision gets after `answers` of the caller, each with the state to give back.
    fn check(sent: &str, answers: &[(&str, Option<&str>)], revision: Revision, expect: &str) {
        let (sent, progress) = (raw(sent), Progress::unheard());
        let mut params = OutgoingParams::by(Some(&sent)).with("name", "\"own\"");
        for (answers, state) in answers {
            params.answer(&raw(answers), *state);
        }
        let following = Following::new(&progress, params.capabilities(), &CALLER);
        let text = params.text(revision, 7, &following);
        let ours = format!(r#""{CLIENT_INFO}":{}"#, US_WRITTEN.get());
        assert_eq!(text.replace(&ours, "US"), expect);
    }

    #[test]
    fn members_stay_where_they_were_and_as_they_came() {
        let sent = r#"{"_meta":{"own":1e2,"progressToken":3},"x":{ "k" : 1 },"name":"theirs","task":{}}"#;
        let meta = r#"{"own":1e2,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},US}"#;
        let rest = r#""x":{ "k" : 1 },"name":"own","task":{}}"#;
        check(sent, &[], Revision::MODERN, &format!(r#"{{"_meta":{meta},{rest}"#));
        check(sent, &[], Revision::LEGACY, &format!(r#"{{"_meta":{{"own":1e2}},{rest}"#));
        check("{}", &[], Revision::LEGACY, r#"{"name":"own"}"#);
    }

    #[test]
    fn answers_go_with_the_state_of_their_own_round() {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},US}"#;
        let first = format!(r#"{{"name":"own","inputResponses":{{"q":1}},"requestState":"a",{meta}}}"#);
        check("{}", &[(r#"{"q":1}"#, Some("a"))], Revision::MODERN, &first);
        let second = format!(r#"{{"name":"own","inputResponses":{{"q":2}},{meta}}}"#);
        check("{}", &[(r#"{"q":1}"#, Some("a")), (r#"{"q":2}"#, None)], Revision::MODERN, &second);
        check("{}", &[(r#"{"q":1}"#, Some("a"))], Revision::LEGACY, r#"{"name":"own"}"#);
    }

    #[test]
    fn a_version_of_null_is_none() {
        let sent = |version: &str| raw(&format!(r#"{{"_meta":{{"{VERSION}":{version}}}}}"#));
        assert!(OutgoingParams::by(Some(&sent(r#""2026-07-28""#))).is_modern());
        assert!(!OutgoingParams::by(Some(&sent("null"))).is_modern());
    }
}
