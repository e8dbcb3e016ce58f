//! Keys in the store: what may be added, and how a new key is made. Shared by the command line and the operators' API.

use std::time::SystemTime;

use anyhow::Context;
use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::hex::to_hex;
use toolmux_core::ports::store::{AuditStore, KeyStore, StoredKey};
use toolmux_core::secret::Secret;

/// How new keys begin, so that a key that was leaked can be searched for.
const PREFIX: &str = "tmx_";
/// The longest name of a caller.
const LONGEST_NAME: usize = 64;

/// A key that somebody wants added.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolset: Option<String>,
    #[serde(default)]
    pub operator: bool,
}

/// What the configuration says that a new key has to fit.
pub struct KnownNames<'a> {
    /// Whether the configuration has a key of this name.
    pub is_configured: &'a (dyn Fn(&str) -> bool + Sync),
    /// Whether it has a toolset of this name.
    pub has_toolset: &'a (dyn Fn(&str) -> bool + Sync),
}

impl NewKey {
    /// Words for what is wrong with it.
    pub fn check(&self, known: &KnownNames<'_>) -> Result<(), String> {
        let NewKey { name, toolset, operator } = self;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
            return Err(format!(
                "the name of a key is 1 to {LONGEST_NAME} letters, digits, `_`, `-` and `.`"
            ));
        }
        if (known.is_configured)(name) {
            return Err(format!("the configuration has a key `{name}`: take another name"));
        }
        match toolset {
            Some(_) if *operator => {
                Err("an operator sees the calls of every tool: give it no toolset".to_owned())
            }
            Some(toolset) if !(known.has_toolset)(toolset) => Err(format!("there is no toolset `{toolset}`")),
            _ => Ok(()),
        }
    }

    /// Adds it; the key itself, which is shown once and kept nowhere. None when the name is taken.
    pub async fn add(
        &self,
        keys: &(impl KeyStore + AuditStore + ?Sized),
        by: &str,
    ) -> anyhow::Result<Option<Secret>> {
        let mut random = [0; 24];
        aws_lc_rs::rand::fill(&mut random).context("no random numbers")?;
        let key = Secret::new(format!("{PREFIX}{}", to_hex(&random)));
        let stored = StoredKey {
            name: self.name.clone(),
            sha256: key.sha256(),
            toolset: self.toolset.clone(),
            operator: self.operator,
            created: SystemTime::now(),
            used: None,
            revoked: None,
        };
        let added = keys.key_add(&stored).await.map_err(|error| anyhow::anyhow!(error.message.public))?;
        if added {
            audit(keys, by, AuditAction::KeyAdded, &self.name).await;
        }
        Ok(added.then_some(key))
    }
}

/// Revokes a key; false when there is none of that name that was not revoked.
pub async fn revoke(
    keys: &(impl KeyStore + AuditStore + ?Sized),
    by: &str,
    name: &str,
) -> anyhow::Result<bool> {
    let revoked = keys.key_revoke(name).await.map_err(|error| anyhow::anyhow!(error.message.public))?;
    if revoked {
        audit(keys, by, AuditAction::KeyRevoked, name).await;
    }
    Ok(revoked)
}

/// The key is added or revoked whether or not that can be written.
async fn audit(store: &(impl AuditStore + ?Sized), by: &str, action: AuditAction, name: &str) {
    if let Err(error) = store.audit_add(&[AuditRecord::now(by, action, name)]).await {
        tracing::warn!(
            developer = error.message.developer,
            "no audit record was written of `{}`",
            action.as_str()
        );
    }
}

/// A key as operators see it, without its digest.
pub fn shown(key: &StoredKey) -> serde_json::Value {
    let at = |time: Option<SystemTime>| time.map(|time| humantime::format_rfc3339_millis(time).to_string());
    serde_json::json!({
        "name": key.name,
        "toolset": key.toolset,
        "operator": key.operator,
        "created": at(Some(key.created)),
        "used": at(key.used),
        "revoked": at(key.revoked),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, toolset: Option<&str>, operator: bool, expect: Option<&str>) {
        let key = NewKey { name: name.to_owned(), toolset: toolset.map(str::to_owned), operator };
        let known =
            KnownNames { is_configured: &|name| name == "alice", has_toolset: &|name| name == "some" };
        match (key.check(&known), expect) {
            (Ok(()), None) => {}
            (Err(what), Some(expect)) => assert!(what.contains(expect), "{what}"),
            (checked, _) => panic!("{name}: {checked:?}"),
        }
    }

    #[test]
    fn what_does_not_fit_the_configuration_is_refused() {
        check("ci-1", None, true, None);
        check("ci.2", Some("some"), false, None);
        check("", None, false, Some("1 to 64"));
        check("jwt:ann", None, false, Some("1 to 64"));
        check("alice", None, false, Some("another name"));
        check("ci", Some("some"), true, Some("no toolset"));
        check("ci", Some("none"), false, Some("no toolset `none`"));
    }
}
