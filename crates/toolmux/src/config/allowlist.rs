//! `secrets` and `providers` of a source: what it may be given besides what `[tools]` names.

use serde_json::{Map, Value};
use toolmux_core::nearest::nearest;
use toolmux_core::requirements::GrantAllowlist;

use super::SourceConfig;
use super::auth::AuthConfig;
use super::fault::ConfigFault;
use super::resolve::Reader;

/// What there is to be named.
pub(super) struct Known<'a> {
    pub(super) secrets: Vec<&'a str>,
    pub(super) providers: Vec<&'a str>,
}

impl<'a> Known<'a> {
    pub(super) fn of(secrets: impl Iterator<Item = &'a String>, auth: Option<&'a AuthConfig>) -> Self {
        let providers = auth.into_iter().flat_map(|auth| &auth.providers);
        Known {
            secrets: secrets.map(String::as_str).collect(),
            providers: providers.map(|provider| provider.name.as_str()).collect(),
        }
    }
}

impl Reader<'_> {
    /// Takes both lists out of the table of a source.
    pub(super) fn take_allowlist(
        &self,
        source: &str,
        members: &mut Map<String, Value>,
    ) -> Result<GrantAllowlist, ConfigFault> {
        let mut names = |key: &str| {
            let fault = || self.fault(&["sources", source, key], format!("`{key}` is a list of names"));
            let items = match members.shift_remove(key) {
                None => Vec::new(),
                Some(Value::Array(items)) => items,
                Some(_) => return Err(fault()),
            };
            let name = |item: Value| item.as_str().map(str::to_owned).ok_or_else(fault);
            items.into_iter().map(name).collect::<Result<Vec<String>, ConfigFault>>()
        };
        Ok(GrantAllowlist { secrets: names("secrets")?, providers: names("providers")? })
    }

    /// Whatever a source may be given is there. A name that is not is told by its place: somebody may have written the
    /// secret itself.
    pub(super) fn check_allowlists(&self, sources: &[SourceConfig], known: &Known<'_>) {
        for source in sources {
            let GrantAllowlist { secrets, providers } = &source.allowlist;
            self.kept(self.check_names(source, ("secrets", "[secrets]"), secrets, &known.secrets));
            self.kept(self.check_names(
                source,
                ("providers", "[auth.providers]"),
                providers,
                &known.providers,
            ));
        }
    }

    fn check_names(
        &self,
        source: &SourceConfig,
        (key, table): (&str, &str),
        names: &[String],
        known: &[&str],
    ) -> Result<(), ConfigFault> {
        let path = table.trim_matches(['[', ']']);
        let is_written = |name: &str| {
            let path: Vec<&str> = path.split('.').chain([name]).collect();
            self.spans.has(&path)
        };
        // One that is written but cannot be read has a fault of its own.
        let is_known = |name: &String| known.contains(&name.as_str()) || is_written(name);
        let Some(place) = names.iter().position(|name| !is_known(name)) else {
            return Ok(());
        };
        let what = format!("`{key}[{place}]` of source `{}` names nothing under {table}", source.name);
        let hint = match nearest(&names[place], known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if known.is_empty() => format!("there is no {table} table"),
            None => format!("there are: {}", known.join(", ")),
        };
        Err(self.fault(&["sources", &source.name, key], what).hint(hint))
    }
}
