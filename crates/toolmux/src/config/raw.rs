//! The configuration file as people write it. The doc comments are the reference manual.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toolmux_protocols::registry::SecretSetting;

use super::auth::RawAuth;
use super::raw_console::RawConsole;
use super::raw_limits::RawLimits;
use super::raw_receipts::RawReceipts;
use super::raw_retention::RawRetention;
use super::raw_telemetry::RawTelemetry;
use super::raw_tool::RawTool;

/// What may stand in `toolmux.toml`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// The address to listen on. An address other than loopback requires a key or `[jwt]`. Default
    /// `127.0.0.1:9627`.
    pub(super) listen: Option<String>,
    /// Where records are stored: `memory` (the default), `sqlite:FILE` or `postgres://…`. Keep a URL with a
    /// password elsewhere, as `{ env = "NAME" }` or `{ file = "path" }`.
    pub(super) store: Option<SecretSetting>,
    /// Where tools come from. `import = "claude_desktop_config.json"`, one file or a list, imports the MCP
    /// servers of Claude Desktop, Cursor, VS Code or Codex, without the tools in their `disabledTools`. The file is
    /// watched.
    #[serde(default)]
    #[schemars(with = "HashMap<String, RawSource>")]
    pub(super) sources: toml::Table,
    /// Settings per tool: `[tools."Math.pow"]`; `*` matches any text.
    #[serde(default, deserialize_with = "in_order")]
    #[schemars(with = "HashMap<String, RawTool>")]
    pub(super) tools: Vec<(String, RawTool)>,
    /// Named selections of tools, for keys, tokens and `/sets/{toolset}`.
    #[serde(default, deserialize_with = "in_order")]
    #[schemars(with = "HashMap<String, RawToolset>")]
    pub(super) toolsets: Vec<(String, RawToolset)>,
    /// Callers that authenticate with a key. As soon as there is one, every route except `/health` requires a
    /// key or token.
    #[serde(default, deserialize_with = "in_order")]
    #[schemars(with = "HashMap<String, RawKey>")]
    pub(super) keys: Vec<(String, RawKey)>,
    /// Callers that get developer messages in OXP answers (`developer_message`): names of keys, `jwt:SUBJECT`,
    /// or `jwt:*`. Without keys and `[jwt]` every caller gets them; the log always has them.
    #[serde(default)]
    pub(super) developers: Vec<String>,
    /// TLS of the listener: it then speaks https, HTTP/1.1 and HTTP/2. Default: plain http.
    pub(super) tls: Option<RawTls>,
    /// JSON Web Tokens, accepted in addition to keys. A token must have `exp` and `sub`.
    pub(super) jwt: Option<RawJwt>,
    /// The server's own secrets, for tools that require them.
    #[serde(default)]
    pub(super) secrets: HashMap<String, SecretSetting>,
    /// OAuth providers, for tools that act for a user.
    pub(super) auth: Option<RawAuth>,
    /// Timeouts, concurrency, sizes and other limits.
    pub(super) limits: Option<RawLimits>,
    /// How long and how many records of calls, tasks and audit events are kept.
    #[serde(default)]
    pub(super) retention: RawRetention,
    /// Receipts: what happened to each call, for `toolmux calls`.
    #[serde(default)]
    pub(super) receipts: RawReceipts,
    /// Traces of calls, for sources; traces, metrics and logs for an OpenTelemetry collector. Default: calls are not traced.
    pub(super) telemetry: Option<RawTelemetry>,
    /// Names that requests may use for this server in `Host`, in addition to those of loopback. Default: none.
    #[serde(default)]
    pub(super) hosts: Vec<String>,
    /// Origins of web pages that may call this server, such as `http://localhost:5173`, in addition to its own.
    /// Default: none.
    #[serde(default)]
    pub(super) origins: Vec<String>,
    /// The console for operators: web pages at `/console` and their API.
    #[serde(default)]
    pub(super) console: RawConsole,
    /// Lets callers without a toolset stop the server with `POST /opentool/stop`.
    #[serde(default)]
    pub(super) allow_stop: bool,
}

/// What every source has; the rest belongs to its kind.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape is read for its schema; the table is taken apart by hand")]
pub(super) struct RawSource {
    /// The kind of source.
    kind: String,
    /// The toolkit of its tools. Default: the name of the table.
    toolkit: Option<String>,
    /// `prefixed` (`Toolkit_tool`, the default) or `bare` (`tool`).
    names: Option<String>,
    /// Converts strings that are exactly the JSON of the type that a schema requires (`"5"` for a number, `"true"` for a
    /// boolean, `"[1]"` for an array or object) before arguments are validated. Default `false`.
    coerce: Option<bool>,
    /// Names in `[secrets]` that its tools may get if they require them, in addition to those that `requires`
    /// and `deliver` of `[tools]` name. Default: none.
    #[schemars(default)]
    secrets: Vec<String>,
    /// Names in `[auth.providers]` whose user tokens its tools may get if they require them. Default: none.
    #[schemars(default)]
    providers: Vec<String>,
}

/// A named selection of tools.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawToolset {
    /// Patterns such as `Math.*`, `Time.get_current_time` and `Time_get_current_time`.
    pub(super) tools: Vec<String>,
}

/// A caller and its key.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawKey {
    /// The key; or set `sha256` or `certificate`.
    pub(super) key: Option<SecretSetting>,
    /// SHA-256 of the key, in hexadecimal.
    pub(super) sha256: Option<String>,
    /// The client certificate with which this caller authenticates instead of a key: its SHA-256 fingerprint, or a PEM file,
    /// which is read again when it changes. Requires `tls.client_ca`.
    pub(super) certificate: Option<String>,
    /// The only tools this caller may see and call. Default: every tool.
    pub(super) toolset: Option<String>,
    /// Lets this caller see the calls of all callers and manage keys: `/console/api`, `toolmux calls --url`. Not with
    /// `toolset`.
    #[serde(default)]
    pub(super) operator: bool,
}

/// TLS of the listener. The files are read again when they change.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTls {
    /// A PEM file of the certificate, followed by those of its issuers.
    pub(super) cert: String,
    /// The private key of `cert`, as PEM: `{ file = "server.key" }` or `{ env = "SERVER_KEY" }`.
    pub(super) key: SecretSetting,
    /// A PEM file of the authorities that issue client certificates. When set, a caller may authenticate with a
    /// certificate instead of a key, see `keys.NAME.certificate`; clients without a certificate can still connect.
    /// Default: client certificates are not requested.
    pub(super) client_ca: Option<String>,
}

/// Which tokens are good.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawJwt {
    /// The key for HS256, at least 32 bytes.
    pub(super) secret: Option<SecretSetting>,
    /// Where the keys for RS256/384/512 and ES256/384 are published: an https URL, or one on this machine.
    pub(super) jwks: Option<String>,
    /// Accepted values of `aud`. When set, a token without `aud` is refused; required with `issuer` and `jwks`.
    #[serde(default)]
    pub(super) audience: Vec<String>,
    /// The required value of `iss`. MCP clients discover it and get their tokens there.
    pub(super) issuer: Option<String>,
    /// Scopes that a token must have (`scope`). MCP clients discover them.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// The toolset of tokens without a `toolset` claim; `"*"` is every tool. Default: such a token may use no
    /// tool.
    pub(super) toolset: Option<String>,
}

/// A table whose order matters.
fn in_order<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<(String, T)>, D::Error> {
    struct InOrder<T>(std::marker::PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
        type Value = Vec<(String, T)>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a table")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }

    deserializer.deserialize_map(InOrder(std::marker::PhantomData))
}
