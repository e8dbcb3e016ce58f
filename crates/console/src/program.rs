//! What only the program that puts the server together knows, as the console asks for it.

use std::sync::Arc;

use serde::Serialize;
use toolmux_core::BoxFuture;
use toolmux_core::catalog::Entry;
use toolmux_core::message::Message;
use toolmux_core::tool::Passthrough;

/// The program behind the console.
pub trait ProgramView: Send + Sync {
    /// The version of the program.
    fn version(&self) -> &'static str;

    /// The configuration as it was read; none for a server that is made in code.
    fn configuration(&self) -> Option<ConfigurationView>;

    /// Where each configured source comes from, in the order of configuration.
    fn sources(&self) -> Vec<SourceOrigin>;

    /// The tool as each protocol shows it.
    fn tool_views(&self, entry: &Arc<Entry>) -> Vec<ProtocolView>;

    /// Lines to paste that call a tool with these arguments at an address; the key is the name of a variable.
    fn call_snippets(
        &self,
        base: &str,
        key: Option<&str>,
        entry: &Entry,
        arguments: &serde_json::Value,
    ) -> Vec<ClientSnippet>;

    /// What to paste into each known client so that it reaches an address; the key is a name of a variable or a key itself.
    fn client_snippets(&self, base: &str, key: Option<&str>) -> Vec<ClientSnippet>;

    /// What a call says of itself whose caller answers questions of its tool.
    fn answering(&self) -> Passthrough;

    /// Whose tokens are kept.
    fn consents(&self) -> BoxFuture<'_, Result<Vec<Consent>, Message>>;

    /// Gives one of them back; false when it is not kept.
    fn revoke_consent<'a>(&'a self, consent: &'a Consent) -> BoxFuture<'a, Result<bool, Message>>;
}

/// The configuration as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConfigurationView {
    /// The file it is from; absent when it was made from the command line.
    pub file: Option<String>,
    /// The text, without values that can be secret.
    pub text: String,
    /// When it was read, as RFC 3339 has it.
    pub read: String,
    /// What is wrong with the file as it is now, when it was not taken.
    pub fault: Option<String>,
    /// Keys that have changed and are taken up by a restart only.
    pub needs_restart: Vec<String>,
}

/// Where a source comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourceOrigin {
    /// Its name in the configuration.
    pub name: String,
    /// The word for its kind.
    pub kind: String,
    /// Its command, document or address, without what can be secret.
    pub place: String,
    /// The configuration has it turned off.
    pub is_off: bool,
}

/// A tool as one protocol shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProtocolView {
    /// The name of the protocol.
    pub protocol: String,
    /// The name by which it is called there.
    pub name: String,
    /// What is said of it there.
    pub shown: serde_json::Value,
}

/// Lines to paste.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClientSnippet {
    /// For which client.
    pub client: String,
    /// Where they go.
    pub place: String,
    /// The lines to paste, with line breaks.
    pub text: String,
}

/// A token of a user that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Consent {
    /// The provider that gave it.
    pub provider: String,
    /// The caller that obtained it.
    pub caller: String,
    /// The user; empty when the caller acts for itself.
    pub user: String,
}

/// A server without a program around it: made in code, or asked from inside.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgram;

impl ProgramView for NoProgram {
    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn configuration(&self) -> Option<ConfigurationView> {
        None
    }

    fn sources(&self) -> Vec<SourceOrigin> {
        Vec::new()
    }

    fn tool_views(&self, _entry: &Arc<Entry>) -> Vec<ProtocolView> {
        Vec::new()
    }

    fn call_snippets(
        &self,
        _: &str,
        _: Option<&str>,
        _: &Entry,
        _: &serde_json::Value,
    ) -> Vec<ClientSnippet> {
        Vec::new()
    }

    fn client_snippets(&self, _base: &str, _key: Option<&str>) -> Vec<ClientSnippet> {
        Vec::new()
    }

    fn answering(&self) -> Passthrough {
        Passthrough::default()
    }

    fn consents(&self) -> BoxFuture<'_, Result<Vec<Consent>, Message>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn revoke_consent<'a>(&'a self, _consent: &'a Consent) -> BoxFuture<'a, Result<bool, Message>> {
        Box::pin(std::future::ready(Ok(false)))
    }
}
