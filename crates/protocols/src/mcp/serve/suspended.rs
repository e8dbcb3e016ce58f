//! A call that asks its caller something, for clients of 2026-07-28, who are asked by a result: the call
//! waits here until the client asks again with the answers.

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::json_text::{raw_of, to_raw};
use toolmux_core::progress::Question;

use super::exchange::Exchange;
use super::running::RunningExchange;
use super::session_state::SessionKey;
use crate::mcp::members::Members;
use crate::mcp::wire::{Fault, INVALID_PARAMS, Params, Reply, our_meta, text_of};

/// How long a call waits for answers.
const PATIENCE: Duration = Duration::from_mins(10);

/// A call and its open questions, by the keys given to the client.
pub(super) struct Suspended {
    running: RunningExchange,
    questions: Vec<(String, Question)>,
    /// What the call holds while it waits, nearly.
    bytes: usize,
}

impl Suspended {
    /// Puts a call aside and tells the client what is asked.
    pub(super) fn put(
        running: RunningExchange,
        questions: Vec<(String, Question)>,
        exchange: &Exchange,
    ) -> Bytes {
        let bytes = exchange.asked.params.as_ref().map_or(0, |params| params.get().len());
        Suspended { running, questions, bytes }.wait(exchange)
    }

    fn wait(self, exchange: &Exchange) -> Bytes {
        let state = format!("{}{}", exchange.session_state.mark, uuid::Uuid::new_v4().simple());
        let mut requests = serde_json::Map::new();
        for (key, question) in &self.questions {
            requests.insert(key.clone(), serde_json::from_str(question.asked.get()).unwrap_or_default());
        }
        let result = json!({ "resultType": "input_required", "inputRequests": requests, "requestState": state, "_meta": our_meta() });
        let asked: usize = self.questions.iter().map(|(_, question)| question.asked.get().len()).sum();
        let (bytes, key) = (self.bytes + asked, key(&state, exchange));
        exchange.session_state.suspended.put(key.clone(), self, bytes);
        let session_state = exchange.session_state.clone();
        exchange.session_state.tasks.spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            drop(session_state.suspended.take(&key));
        });
        text_of(raw_of(&result))
    }

    /// The call that a state of ours stands for, when the request carries one.
    pub(super) fn named<'a>(params: &'a Params<'_>, exchange: &Exchange) -> Option<&'a str> {
        params.request_state.as_deref().filter(|state| state.starts_with(&exchange.session_state.mark))
    }

    /// Goes on with a call. Only the caller it belongs to can, with the same target.
    pub(super) async fn resume(state: &str, params: &Params<'_>, exchange: &Exchange) -> Reply {
        let unknown = || Fault::new(INVALID_PARAMS, "The `requestState` is not known or has expired");
        let key = key(state, exchange);
        let mut suspended = exchange.session_state.suspended.take(&key).ok_or_else(unknown)?;
        let target = params.name.as_deref().or(params.uri.as_deref()).unwrap_or_default();
        if suspended.running.target != target {
            let bytes = suspended.bytes;
            exchange.session_state.suspended.put(key, suspended, bytes);
            return Err(unknown());
        }
        let answers = params.input_responses.map_or_else(|| Some(Members::default()), Members::read);
        let answers =
            answers.ok_or_else(|| Fault::new(INVALID_PARAMS, "`inputResponses` must be an object"))?;
        let mut open = Vec::new();
        for (key, question) in std::mem::take(&mut suspended.questions) {
            match answers.get(&key) {
                Some(answer) => question.answer(said(answer)),
                None => open.push((key, question)),
            }
        }
        if open.is_empty() {
            suspended.running.drive(exchange).await
        } else {
            Ok(Suspended { questions: open, ..suspended }.wait(exchange))
        }
    }
}

/// A state is known to the caller alone whose call it stands for.
fn key(state: &str, exchange: &Exchange) -> SessionKey {
    SessionKey { caller: exchange.peer.caller.name().into(), id: state.into() }
}

/// An answer as a question hears it.
pub(super) fn said(result: &RawValue) -> Box<RawValue> {
    #[derive(serde::Serialize)]
    struct Parts<'a> {
        result: &'a RawValue,
    }
    to_raw(&Parts { result }).expect("an answer is writable")
}
