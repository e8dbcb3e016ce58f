//! Every method that clients may send: its name, the revisions that have it, what its request is about, whether its
//! answer may be a stream, and what answers it. Transports, checks of eras and headers, and capabilities read this
//! table; no other file of the server spells the name of a method, and the client
//! takes from here what it sends or answers too. A new one is a file in `serve/methods/` and a row.

use std::future::ready;
use std::ops::RangeInclusive;

use serde_json::value::RawValue;
use toolmux_core::BoxFuture;

use super::LISTEN;
use super::revision::Revision;
use super::serve::methods::{
    completions, discover, listen, ping, prompts, resources, set_level, subscriptions, tools,
};
use super::serve::request::{Capability, Exchange, Method, Opens, RpcRequest, Streams, Target};
use super::serve::tasks;
use super::wire::{Fault, Reply};

pub(super) const TOOLS_CALL: &str = "tools/call";
/// Either side may send it.
pub(super) const PING: &str = "ping";

const EVERY: RangeInclusive<Revision> = Revision::V2024_11_05..=Revision::MODERN;
/// Revisions with a handshake.
const HANDSHAKE: RangeInclusive<Revision> = Revision::V2024_11_05..=Revision::LEGACY;
/// The stateless revision alone.
const STATELESS: RangeInclusive<Revision> = Revision::MODERN..=Revision::MODERN;
/// The revision whose core has tasks.
const CORE_TASKS: RangeInclusive<Revision> = Revision::V2025_11_25..=Revision::V2025_11_25;
/// Tasks in either form.
const TASKS: RangeInclusive<Revision> = Revision::V2025_11_25..=Revision::MODERN;

/// What answers a request. Dropping the future cancels it.
type Handler = fn(Exchange) -> BoxFuture<'static, Reply>;

struct Row(Method, Handler);

static METHODS: &[Row] = &[
    // Answered by the transports, which keep what the handshake agrees on; anywhere else it is not available.
    Row(Method::new("initialize", HANDSHAKE).opens(Opens::Session), unavailable),
    Row(Method::new("server/discover", STATELESS).opens(Opens::Discovery), |exchange| {
        Box::pin(discover::answer(exchange))
    }),
    Row(Method::new(PING, HANDSHAKE), |_| Box::pin(ready(Ok(ping::answer())))),
    Row(Method::new("logging/setLevel", HANDSHAKE), |exchange| Box::pin(ready(set_level::answer(&exchange)))),
    Row(Method::new("tools/list", EVERY), |exchange| Box::pin(tools::list(exchange))),
    Row(Method::new(TOOLS_CALL, EVERY).about(Target::Tool).streams(Streams::WhenFollowed), |exchange| {
        Box::pin(tools::call(exchange))
    }),
    Row(Method::new("prompts/list", EVERY).needs(Capability::Prompts), |exchange| {
        Box::pin(prompts::list(exchange))
    }),
    Row(
        Method::new("prompts/get", EVERY)
            .about(Target::Prompt)
            .streams(Streams::WhenFollowed)
            .needs(Capability::Prompts),
        |exchange| Box::pin(prompts::get(exchange)),
    ),
    Row(Method::new("resources/list", EVERY).needs(Capability::Resources), |exchange| {
        Box::pin(resources::list(exchange))
    }),
    Row(Method::new("resources/templates/list", EVERY).needs(Capability::Resources), |exchange| {
        Box::pin(resources::list_templates(exchange))
    }),
    Row(
        Method::new("resources/read", EVERY)
            .about(Target::Resource)
            .streams(Streams::WhenFollowed)
            .needs(Capability::Resources),
        |exchange| Box::pin(resources::read(exchange)),
    ),
    Row(Method::new("resources/subscribe", HANDSHAKE).needs(Capability::Subscriptions), |exchange| {
        Box::pin(subscriptions::subscribe(exchange))
    }),
    Row(Method::new("resources/unsubscribe", HANDSHAKE).needs(Capability::Subscriptions), |exchange| {
        Box::pin(ready(subscriptions::unsubscribe(&exchange)))
    }),
    Row(Method::new("completion/complete", EVERY).needs(Capability::Completions), |exchange| {
        Box::pin(completions::complete(exchange))
    }),
    Row(Method::new(LISTEN, STATELESS).streams(Streams::UntilClosed), |exchange| {
        Box::pin(listen::answer(exchange))
    }),
    Row(Method::new("tasks/get", TASKS).about(Target::Task), |exchange| Box::pin(tasks::get(exchange))),
    Row(Method::new("tasks/cancel", TASKS).about(Target::Task), |exchange| Box::pin(tasks::cancel(exchange))),
    Row(Method::new("tasks/update", STATELESS).about(Target::Task), |exchange| {
        Box::pin(tasks::update(exchange))
    }),
    Row(Method::new("tasks/result", CORE_TASKS).streams(Streams::Always), |exchange| {
        Box::pin(tasks::result(exchange))
    }),
    Row(Method::new("tasks/list", CORE_TASKS), |exchange| Box::pin(tasks::list(exchange))),
];

/// What is known of a name that is not in the table: no row answers it.
static UNKNOWN: Method = Method::new("", EVERY);

/// A request as it was sent, with what the table says of its method.
pub(super) fn request(id: &RawValue, name: &str, params: Option<&RawValue>) -> RpcRequest {
    let known = METHODS.iter().find(|row| row.0.name == name);
    RpcRequest::new(id, name, known.map_or(&UNKNOWN, |row| &row.0), params)
}

/// Answers a request, unless its revision does not have the method. Dropping the future cancels it.
pub(super) fn answer(exchange: Exchange) -> BoxFuture<'static, Reply> {
    let (method, revision) = (exchange.request.method, exchange.peer.revision);
    let row = METHODS.iter().find(|row| std::ptr::eq(&raw const row.0, method));
    match row.filter(|row| row.0.revisions.contains(&revision)) {
        Some(row) => (row.1)(exchange),
        None => unavailable(exchange),
    }
}

fn unavailable(exchange: Exchange) -> BoxFuture<'static, Reply> {
    Box::pin(ready(Err(Fault::no_method(&exchange.request.name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_stands_in_the_table_once() {
        let mut names: Vec<&str> = METHODS.iter().map(|row| row.0.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn methods_of_one_era_are_not_of_the_other() {
        let has = |name: &str, revision: Revision| {
            METHODS.iter().any(|row| row.0.name == name && row.0.revisions.contains(&revision))
        };
        for (name, legacy, modern) in [
            ("initialize", true, false),
            (PING, true, false),
            (TOOLS_CALL, true, true),
            ("server/discover", false, true),
            (LISTEN, false, true),
            ("tasks/get", true, true),
            ("tasks/update", false, true),
            ("tasks/list", true, false),
        ] {
            assert_eq!(
                (has(name, Revision::LEGACY), has(name, Revision::MODERN)),
                (legacy, modern),
                "{name}"
            );
        }
        assert!(!has("tasks/get", Revision::V2025_06_18));
    }
}
