//! `/console/api`: everything the console shows and does, as JSON.

mod call_tool;
mod calls;
mod consents;
mod events;
mod keys;
mod openapi;
mod read;
mod tasks;

pub(crate) use self::call_tool::{Tried, answer_question, arguments_of, call_tool, request_of, try_call};
pub(crate) use self::calls::{list as calls, show as call};
pub(crate) use self::consents::{list as consents, revoke as revoke_consent};
pub(crate) use self::events::events;
pub(crate) use self::keys::{add as add_key, add_checked, list as keys, remove as revoke_key};
pub(crate) use self::openapi::openapi;
pub(crate) use self::read::{
    audit, callers, configuration, flows, overview, restart_source, sources, tool, tools,
};
pub(crate) use self::tasks::{
    TaskRow, answer as answer_task, answer_question_of, cancel as cancel_task, list as tasks, one as task,
    row as task_row,
};
