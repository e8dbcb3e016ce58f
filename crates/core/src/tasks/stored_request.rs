//! A request as it is stored to run later, here or elsewhere. The form is this file's alone: a caller can be written and
//! read nowhere else, so that nothing that comes from outside becomes one.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::arguments::Arguments;
use crate::call::{Call, CallId, Caller, Request};
use crate::json_text::RawJson;
use crate::message::Message;
use crate::names::ToolRef;
use crate::ports::store::ClaimedTask;
use crate::refusal::Refusal;
use crate::task::TaskId;
use crate::tool::Passthrough;
use crate::trace_context::CallSpan;

/// All that is kept of a request. Credentials are not.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredRequest {
    caller: StoredCaller,
    id: Option<CallId>,
    /// The task is the record of its id; otherwise a call is.
    is_record: bool,
    tool: String,
    arguments: RawJson,
    user_id: Option<String>,
    trace: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace_state: Option<Box<str>>,
    /// The same for every run of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    span: Option<CallSpan>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    protocol: Cow<'static, str>,
    patience: Option<Duration>,
    #[serde(default)]
    answers: bool,
    /// What only the caller's protocol can say, such as what the caller can be asked.
    #[serde(default, skip_serializing_if = "Passthrough::is_empty")]
    extra: Passthrough,
}

/// Who asked. Whether this caller is still let in is asked again before the task runs.
#[derive(Serialize, Deserialize)]
struct StoredCaller {
    name: Arc<str>,
    user: Option<Arc<str>>,
    toolsets: [Option<Arc<str>>; 2],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    act_as: Option<Arc<[String]>>,
}

impl StoredCaller {
    fn of(caller: &Caller) -> Self {
        let Caller { name, user, toolsets, act_as } = caller.clone();
        StoredCaller { name, user, toolsets, act_as }
    }

    fn read(self) -> Caller {
        let StoredCaller { name, user, toolsets, act_as } = self;
        Caller { name, user, toolsets, act_as }
    }
}

/// What a stored request says.
pub(super) struct ReadRequest {
    pub(super) caller: Caller,
    pub(super) request: Request,
    /// The task, if it is the record of the request's id.
    pub(super) record: Option<TaskId>,
}

impl StoredRequest {
    pub(super) fn write(call: &Call) -> String {
        let stored = StoredRequest {
            caller: StoredCaller::of(&call.caller),
            id: call.request.id.clone(),
            is_record: call.task.is_some(),
            tool: call.entry.id.to_string(),
            arguments: call.given().text().to_owned(),
            user_id: call.request.grants.user_id.clone(),
            trace: call.request.trace.clone(),
            trace_state: call.request.trace_state.clone(),
            span: call.request.span,
            protocol: call.request.protocol.clone(),
            patience: call.request.patience,
            answers: call.request.answers,
            extra: call.request.extra.clone(),
        };
        serde_json::to_string(&stored).expect("every member can be written")
    }

    pub(super) fn read(task: &ClaimedTask) -> Result<ReadRequest, Refusal> {
        let unreadable = |error: &dyn Error| {
            Refusal::Internal(Message::public("The stored request cannot be read").caused_by(error))
        };
        let stored: StoredRequest =
            serde_json::from_str(&task.request).map_err(|error| unreadable(&error))?;
        let tool = ToolRef::id(&stored.tool).map_err(|error| unreadable(&error))?;
        let arguments = Arguments::read(Some(&stored.arguments)).map_err(|error| unreadable(&error))?;
        let mut request = Request::new(tool, arguments);
        request.id = stored.id;
        request.grants.user_id = stored.user_id;
        request.trace = stored.trace;
        request.trace_state = stored.trace_state;
        request.span = stored.span;
        request.protocol = stored.protocol;
        request.patience = stored.patience;
        request.answers = stored.answers;
        request.extra = stored.extra;
        let record = stored.is_record.then(|| task.id.clone());
        Ok(ReadRequest { caller: stored.caller.read(), request, record })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(user: Option<&str>, act_as: Option<&[&str]>) -> Caller {
        Caller {
            name: "jwt:ann".into(),
            user: user.map(Into::into),
            toolsets: [Some("home".into()), None],
            act_as: act_as.map(|users| users.iter().map(|user| (*user).to_owned()).collect()),
        }
    }

    /// For whom a caller may act is asked again when its task runs, so that nothing of it may get lost.
    #[test]
    fn a_caller_is_read_back_as_it_was() {
        let acting: [Option<&[&str]>; 4] = [None, Some(&[]), Some(&["bob", "eve"]), Some(&["*"])];
        for act_as in acting {
            for user in [None, Some("ann")] {
                let caller = caller(user, act_as);
                let text = serde_json::to_string(&StoredCaller::of(&caller)).expect("writable");
                let read: StoredCaller = serde_json::from_str(&text).expect("readable");
                assert_eq!(read.read(), caller, "{text}");
            }
        }
    }

    #[test]
    fn the_stored_form_of_a_caller_stays_readable() {
        let text = r#"{"name":"jwt:ann","user":"ann","toolsets":["home",null],"act_as":["bob"]}"#;
        let read: StoredCaller = serde_json::from_str(text).expect("readable");
        assert_eq!(serde_json::to_string(&read).expect("writable"), text);
        assert_eq!(read.read(), caller(Some("ann"), Some(&["bob"])));
    }
}
