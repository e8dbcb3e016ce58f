//! Whether somebody who was let in before still is, once the configuration has changed: for streams that are open,
//! and for calls and tasks that waited for their turn.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

use super::Gateway;
use super::admit::{Admission, Credential, admit};
use crate::call::{Call, Caller};
use crate::message::Message;
use crate::names::ToolRef;
use crate::refusal::Refusal;

/// How callers by token are named.
const TOKEN_NAMES: [&str; 2] = ["jwt:", "jwt#"];

/// Counts how often the rules of admission were replaced.
#[derive(Debug, Default)]
pub(super) struct AdmissionChanges {
    /// The same number as in `told`, for calls, which must not wait for a lock.
    count: AtomicU64,
    told: watch::Sender<u64>,
}

impl AdmissionChanges {
    /// Called after the new rules hold: whoever sees the new number also sees the new rules.
    pub(super) fn changed(&self) {
        let count = self.count.fetch_add(1, Ordering::AcqRel) + 1;
        self.told.send_replace(count);
    }

    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }
}

impl Gateway {
    /// The caller as the present configuration has it, by its name. A key that was removed lets nobody in, and one
    /// whose toolset has changed opens the tools of the new one.
    pub(crate) fn readmit(&self, caller: &Caller) -> Result<Caller, Refusal> {
        readmit(&self.settings.load().admission, caller).ok_or_else(|| {
            let text = "The tool did not run: its caller is no longer authorized";
            Refusal::Unauthenticated(Message::public(text))
        })
    }

    /// A call that waited, if its caller may still make it.
    pub(crate) fn readmit_call(&self, call: Call) -> Result<Call, Refusal> {
        let caller = self.readmit(&call.caller)?;
        if caller != call.caller {
            let tool = ToolRef::id(&call.entry.id.to_string());
            let tool = tool.map_err(|error| Refusal::Internal(Message::public(error.to_string())))?;
            self.locate(&caller, &tool)?;
        }
        Ok(Call { caller, ..call })
    }
}

/// A token is not kept, so that a caller by token stays let in as long as tokens are accepted at all.
fn readmit(admission: &Admission, caller: &Caller) -> Option<Caller> {
    if admission.is_open() {
        let anyone = admit(admission, Credential::None, None).ok()?;
        return (anyone.name == caller.name).then(|| caller.clone());
    }
    if let Some(key) = admission.keys.iter().find(|key| key.name == caller.name) {
        let toolsets = [key.toolset.clone(), caller.toolsets[1].clone()];
        return Some(Caller { toolsets, ..caller.clone() });
    }
    let is_token = TOKEN_NAMES.iter().any(|name| caller.name.starts_with(name));
    (admission.jwt.is_some() && is_token).then(|| caller.clone())
}

/// Whether a caller is let in no more, or by another key than before: whoever has the new one may be somebody else.
pub(super) fn has_left(before: &Admission, now: &Admission, caller: &str) -> bool {
    let digest =
        |admission: &Admission| admission.keys.iter().find(|key| *key.name == *caller).map(|key| key.sha256);
    if before.is_open() || now.is_open() {
        return before.is_open() != now.is_open();
    }
    match digest(before) {
        Some(key) => digest(now) != Some(key),
        None => now.jwt.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ApiKey;

    fn key(name: &str, toolset: Option<&str>) -> ApiKey {
        ApiKey { name: name.into(), sha256: [0; 32], toolset: toolset.map(Into::into) }
    }

    fn caller(name: &str) -> Caller {
        Caller { name: name.into(), user: None, toolsets: [None, Some("asked".into())], act_as: None }
    }

    /// The toolsets with which a caller is let in again.
    fn check(keys: Vec<ApiKey>, name: &str, expect: Option<&[&str]>) {
        let admission = Admission { keys, jwt: None };
        let again = readmit(&admission, &caller(name));
        let toolsets = again.as_ref().map(|caller| caller.toolsets().map(|set| &**set).collect::<Vec<_>>());
        assert_eq!(toolsets.as_deref(), expect, "{name}");
    }

    #[test]
    fn a_caller_is_let_in_again_by_its_name_and_with_the_toolset_of_today() {
        check(vec![key("alice", None)], "alice", Some(&["asked"]));
        check(vec![key("alice", Some("home"))], "alice", Some(&["home", "asked"]));
        check(vec![key("bob", None)], "alice", None);
        check(vec![key("bob", None)], "jwt:alice", None);
    }

    #[test]
    fn a_caller_whose_key_is_another_or_none_has_left() {
        let (alice, bob) = (key("alice", None), key("bob", None));
        let replaced = ApiKey { sha256: [1; 32], ..alice.clone() };
        let fenced = ApiKey { toolset: Some("home".into()), ..alice.clone() };
        let admission =
            |keys: &[&ApiKey]| Admission { keys: keys.iter().copied().cloned().collect(), jwt: None };
        let before = admission(&[&alice, &bob]);
        for (now, expect) in [
            (vec![&alice, &bob], false),
            (vec![&alice], false),
            (vec![&fenced], false),
            (vec![&bob], true),
            (vec![&replaced, &bob], true),
            (vec![], true),
        ] {
            assert_eq!(has_left(&before, &admission(&now), "alice"), expect, "{now:?}");
        }
        assert!(has_left(&admission(&[]), &before, "anonymous"));
        assert!(!has_left(&admission(&[]), &admission(&[]), "anonymous"));
    }

    #[test]
    fn where_nobody_has_to_prove_anything_only_those_without_a_name_go_on() {
        check(Vec::new(), "anonymous", Some(&["asked"]));
        check(Vec::new(), "alice", None);
        check(vec![key("alice", None)], "anonymous", None);
    }
}
