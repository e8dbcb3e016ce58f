//! What a server sends about a request before it answers it: progress and logs go to whoever follows, and
//! questions to the caller, if it can be asked.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::json_text::{RawJson, raw_of, to_raw};
use toolmux_core::ports::source::Relayed;
use toolmux_core::progress::{Progress, Update};

use crate::mcp::MCP;
use crate::mcp::notifications::{MESSAGE, PROGRESS, RESOURCE_UPDATED};
use crate::mcp::wire::{Capabilities, INTERNAL_ERROR, METHOD_NOT_FOUND, ROOTS};

/// The follower of one request.
#[derive(Clone, Debug)]
pub(in crate::mcp) struct Following<'a> {
    progress: &'a Progress,
    /// What the caller can do.
    pub(in crate::mcp) capabilities: Capabilities,
    /// Who asks; none for a request of our own.
    pub(in crate::mcp) caller: Option<&'a Arc<str>>,
}

impl<'a> Following<'a> {
    pub(in crate::mcp) fn new(
        progress: &'a Progress,
        capabilities: Capabilities,
        caller: &'a Arc<str>,
    ) -> Self {
        Following { progress, capabilities, caller: Some(caller) }
    }

    /// A request of our own, such as a list: nobody hears of it, and nobody can be asked.
    pub(in crate::mcp) fn ours(progress: &'a Progress) -> Self {
        Following { progress, capabilities: Capabilities::default(), caller: None }
    }

    /// True when anybody wants to hear of progress.
    pub(in crate::mcp) fn hears(&self) -> bool {
        self.progress.is_heard()
    }

    /// True when the caller can be asked anything.
    pub(in crate::mcp) fn answers(&self) -> bool {
        self.progress.is_answered() && self.capabilities.can_be_asked()
    }

    /// Passes a notification on.
    pub(in crate::mcp) async fn heard(&self, method: &str, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Parts {
            progress: Option<f64>,
            total: Option<f64>,
            message: Option<String>,
            level: Option<String>,
            data: Option<RawJson>,
        }
        if let (RESOURCE_UPDATED, Some(params)) = (method, params) {
            return self.progress.send(Update::Data(params.to_owned())).await;
        }
        let Some(parts) = params.and_then(|params| serde_json::from_str::<Parts>(params.get()).ok()) else {
            return;
        };
        let update = match (method, parts) {
            (PROGRESS, Parts { progress: Some(done), total, message, .. }) => {
                Update::Progress { done, total, message }
            }
            (MESSAGE, Parts { level: Some(level), data: Some(data), .. }) => Update::Log { level, data },
            _ => return,
        };
        self.progress.send(update).await;
    }

    /// Puts a question of the server to the caller.
    pub(in crate::mcp) async fn asked(&self, method: &str, params: Option<&RawValue>) -> Relayed {
        #[derive(Serialize)]
        struct Question<'a> {
            method: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            params: Option<&'a RawValue>,
        }
        if !self.progress.is_answered() || !self.capabilities.answers(method) {
            return unasked(method);
        }
        let question = to_raw(&Question { method, params }).expect("a question is writable");
        match self.progress.ask(MCP, question).await {
            Some(answer) => read(&answer),
            None => Err(error(INTERNAL_ERROR, "The caller did not answer")),
        }
    }
}

/// The answer to a question that nobody here can be asked. We declare roots for all our callers: one that has none, or
/// a time at which nobody calls, is an empty list.
pub(in crate::mcp) fn unasked(method: &str) -> Relayed {
    match method {
        ROOTS => Ok(raw_of(&json!({ "roots": [] }))),
        _ => Err(error(METHOD_NOT_FOUND, &format!("`{method}` is not supported here"))),
    }
}

fn error(code: i64, message: &str) -> RawJson {
    raw_of(&json!({ "code": code, "message": message }))
}

fn read(answer: &RawValue) -> Relayed {
    #[derive(Deserialize)]
    struct Answer {
        result: Option<RawJson>,
        error: Option<RawJson>,
    }
    match serde_json::from_str(answer.get()) {
        Ok(Answer { result: Some(result), .. }) => Ok(result),
        Ok(Answer { error: Some(error), .. }) => Err(error),
        _ => Err(error(INTERNAL_ERROR, "The caller's answer cannot be read")),
    }
}
