//! What this program tells its console: the configuration as it was read, where sources come from, lines to paste, and
//! whose tokens are kept.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde_json::Value;
use toolmux_broker::{OAuthBroker, Owner};
use toolmux_console::{ClientSnippet, ConfigurationView, Consent, ProgramView, ProtocolView, SourceOrigin};
use toolmux_core::BoxFuture;
use toolmux_core::catalog::Entry;
use toolmux_core::message::Message;
use toolmux_core::tool::Passthrough;

use crate::config::{Config, SourceConfig, imported_files, shown_text, switched_off};
use crate::listener::served;
use crate::snippets;

/// What is told of the configuration now.
pub(crate) struct ConsoleView {
    file: Option<PathBuf>,
    shown: Mutex<Shown>,
}

struct Shown {
    configuration: ConfigurationView,
    sources: Vec<SourceOrigin>,
    broker: Option<Arc<OAuthBroker>>,
}

impl ConsoleView {
    pub(crate) fn new(config: &Config, file: Option<&Path>, broker: Option<Arc<OAuthBroker>>) -> Arc<Self> {
        let shown = Shown { configuration: configuration(file), sources: origins(config, file), broker };
        Arc::new(ConsoleView { file: file.map(Path::to_owned), shown: Mutex::new(shown) })
    }

    /// The file was read again and taken.
    pub(crate) fn taken(&self, config: &Config, waiting: &[&'static str], broker: Option<Arc<OAuthBroker>>) {
        let mut configuration = configuration(self.file.as_deref());
        configuration.needs_restart = waiting.iter().map(ToString::to_string).collect();
        let sources = origins(config, self.file.as_deref());
        self.shown(|shown| *shown = Shown { configuration, sources, broker });
    }

    /// The file was read again and cannot be used.
    pub(crate) fn not_taken(&self, fault: &str) {
        self.shown(|shown| shown.configuration.fault = Some(fault.to_owned()));
    }

    fn shown<T>(&self, read: impl FnOnce(&mut Shown) -> T) -> T {
        read(&mut self.shown.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn configuration(file: Option<&Path>) -> ConfigurationView {
    let text = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    ConfigurationView {
        file: file.map(|file| file.display().to_string()),
        text: shown_text(&text),
        read: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
        fault: None,
        needs_restart: Vec::new(),
    }
}

/// Where sources come from, with those that imported files have switched off.
fn origins(config: &Config, file: Option<&Path>) -> Vec<SourceOrigin> {
    let on = config.sources.iter().map(origin);
    let text = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    let folder = file.and_then(Path::parent).unwrap_or(Path::new("."));
    let off = imported_files(&text).into_iter().flat_map(|place| {
        switched_off(&folder.join(&place)).into_iter().map(move |name| SourceOrigin {
            name,
            kind: "mcp".to_owned(),
            place: place.clone(),
            is_off: true,
        })
    });
    let on: Vec<SourceOrigin> = on.collect();
    let is_new = |origin: &SourceOrigin| !on.iter().any(|known| known.name == origin.name);
    let off: Vec<SourceOrigin> = off.filter(is_new).collect();
    on.into_iter().chain(off).collect()
}

/// Of a command its program alone, of an address its host alone: the rest can be secret.
fn origin(source: &SourceConfig) -> SourceOrigin {
    let text = |key: &str| source.table.get(key).and_then(Value::as_str);
    let program = || source.table.get("command").and_then(|command| command.get(0)).and_then(Value::as_str);
    let host = |address: &str| {
        let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        format!("{scheme}://{}", host.rsplit('@').next().unwrap_or_default())
    };
    let place = text("document").or_else(|| text("library")).map(str::to_owned);
    let place = place.or_else(|| text("url").map(host)).or_else(|| program().map(str::to_owned));
    SourceOrigin {
        name: source.name.clone(),
        kind: source.kind.to_owned(),
        place: place.unwrap_or_default(),
        is_off: false,
    }
}

impl ProgramView for ConsoleView {
    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn configuration(&self) -> Option<ConfigurationView> {
        self.file.as_ref()?;
        Some(self.shown(|shown| shown.configuration.clone()))
    }

    fn sources(&self) -> Vec<SourceOrigin> {
        self.shown(|shown| shown.sources.clone())
    }

    fn tool_views(&self, entry: &Arc<Entry>) -> Vec<ProtocolView> {
        let view = |served: &toolmux_http::serve::Served| {
            let (name, shown) = (served.shows?)(entry)?;
            Some(ProtocolView { protocol: served.name.to_owned(), name, shown })
        };
        served().filter_map(view).collect()
    }

    fn call_snippets(
        &self,
        base: &str,
        key: Option<&str>,
        entry: &Entry,
        arguments: &Value,
    ) -> Vec<ClientSnippet> {
        snippets::of_call(base, key, entry, arguments)
    }

    fn client_snippets(&self, base: &str, key: Option<&str>) -> Vec<ClientSnippet> {
        snippets::of_clients(base, key)
    }

    fn answering(&self) -> Passthrough {
        toolmux_protocols::mcp::answering()
    }

    fn consents(&self) -> BoxFuture<'_, Result<Vec<Consent>, Message>> {
        let broker = self.shown(|shown| shown.broker.clone());
        Box::pin(async move {
            let Some(broker) = broker else { return Ok(Vec::new()) };
            let owners = broker.owners().await.map_err(|error| error.message)?;
            let consent = |Owner { provider, caller, user }: Owner| Consent { provider, caller, user };
            Ok(owners.into_iter().map(consent).collect())
        })
    }

    fn revoke_consent<'a>(&'a self, consent: &'a Consent) -> BoxFuture<'a, Result<bool, Message>> {
        let broker = self.shown(|shown| shown.broker.clone());
        Box::pin(async move {
            let Some(broker) = broker else { return Ok(false) };
            let Consent { provider, caller, user } = consent.clone();
            let (was_there, _) =
                broker.revoke(&Owner { provider, caller, user }).await.map_err(|error| error.message)?;
            Ok(was_there)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[(&str, &str, &str)]) {
        let config = Config::read(text, "toolmux.toml", Path::new(".")).map_err(|fault| fault.summary());
        let origins = origins(&config.expect("a good configuration"), None);
        let told: Vec<_> =
            origins.iter().map(|o| (o.name.as_str(), o.kind.as_str(), o.place.as_str())).collect();
        assert_eq!(told, expect);
    }

    #[test]
    fn where_a_source_comes_from_is_said_without_what_can_be_secret() {
        check(
            "[sources.A]\nkind = \"mcp\"\ncommand = [\"npx\", \"--token\", \"hunter2\"]\n\
             [sources.B]\nkind = \"mcp\"\nurl = \"https://ann:hunter2@h.example:1/mcp?key=hunter2\"\n",
            &[("A", "mcp", "npx"), ("B", "mcp", "https://h.example:1")],
        );
    }
}
