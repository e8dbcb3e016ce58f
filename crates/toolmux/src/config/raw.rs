//! The configuration file as people write it. The doc comments are the reference manual.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toolmux_protocols::registry::SecretSetting;

use super::auth::RawAuth;
use super::raw_limits::RawLimits;
use super::raw_retention::RawRetention;
use super::raw_tool::RawTool;

/// What may stand in `toolmux.toml`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// Where to listen. An address other than loopback needs a key or `[jwt]`.
    pub(super) listen: Option<String>,
    /// Where records are kept: `memory`, which is the default, `sqlite:FILE` or `postgres://…`. An address with a
    /// password is better kept elsewhere, as `{ env = "NAME" }` or `{ file = "path" }`.
    pub(super) store: Option<SecretSetting>,
    /// Where tools come from. `import = "claude_desktop_config.json"`, one file or several, takes the MCP servers
    /// out of the configuration of Claude Desktop, Cursor, VS Code or Codex.
    #[serde(default)]
    #[schemars(with = "HashMap<String, RawSource>")]
    pub(super) sources: toml::Table,
    /// Settings by tool: `[tools."Math.pow"]`; `*` stands for any text.
    #[serde(default, deserialize_with = "in_order")]
    #[schemars(with = "HashMap<String, RawTool>")]
    pub(super) tools: Vec<(String, RawTool)>,
    /// Named selections of tools.
    #[serde(default, deserialize_with = "in_order")]
    #[schemars(with = "HashMap<String, RawToolset>")]
    pub(super) toolsets: Vec<(String, RawToolset)>,
    /// Callers by key. As soon as there is one, every route but `/health` asks for it.
    #[serde(default, deserialize_with = "in_order")]
    #[schemars(with = "HashMap<String, RawKey>")]
    pub(super) keys: Vec<(String, RawKey)>,
    /// Callers that are told the developer half of messages in answers over OXP (`developer_message`): names of keys,
    /// `jwt:SUBJECT`, or `jwt:*`. Without keys and `[jwt]` every caller is; the log always has it.
    #[serde(default)]
    pub(super) developers: Vec<String>,
    /// JSON Web Tokens, accepted beside keys. A token must have `exp` and `sub`.
    pub(super) jwt: Option<RawJwt>,
    /// The server's own secrets, for tools that require them.
    #[serde(default)]
    pub(super) secrets: HashMap<String, SecretSetting>,
    /// Providers of users' tokens, for tools that act for a user.
    pub(super) auth: Option<RawAuth>,
    /// Bounds of calls, bodies, waits and connections.
    pub(super) limits: Option<RawLimits>,
    /// What is kept of calls, tasks and what was done, and for how long.
    #[serde(default)]
    pub(super) retention: RawRetention,
    /// Names this server may be called by, beside those of loopback.
    #[serde(default)]
    pub(super) hosts: Vec<String>,
    /// Origins of web pages that may call this server, such as `http://localhost:5173`, beside its own.
    #[serde(default)]
    pub(super) origins: Vec<String>,
    /// `POST /opentool/stop` of a caller without a toolset ends the server.
    #[serde(default)]
    pub(super) allow_stop: bool,
}

/// What every source has; the rest belongs to its kind.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape is read for its schema; the table is taken apart by hand")]
pub(super) struct RawSource {
    /// Which kind of source.
    kind: String,
    /// The toolkit of its tools; the name of the table when absent.
    toolkit: Option<String>,
    /// `prefixed` (`Toolkit_tool`, the default) or `bare` (`tool`).
    names: Option<String>,
    /// Convert texts that are exactly the JSON of what a schema wants (`"5"` for a number, `"true"` for a boolean, `"[1]"` for
    /// an array or object) before arguments are checked; `false` when absent.
    coerce: Option<bool>,
    /// Names under `[secrets]` that its tools may be given when they require them; none when absent, beside what
    /// `requires` and `deliver` of `[tools]` name.
    #[schemars(default)]
    secrets: Vec<String>,
    /// The same for names under `[auth.providers]`, whose tokens of users its tools may be given.
    #[schemars(default)]
    providers: Vec<String>,
}

/// A named selection of tools.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawToolset {
    /// Patterns such as `Math.*` and `Time.get_current_time`.
    pub(super) tools: Vec<String>,
}

/// A caller and its key.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawKey {
    /// The key; or give `sha256`.
    pub(super) key: Option<SecretSetting>,
    /// SHA-256 of the key in hexadecimal.
    pub(super) sha256: Option<String>,
    /// The only tools it opens; absent means every tool.
    pub(super) toolset: Option<String>,
}

/// Which tokens are good.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawJwt {
    /// For HS256: at least 32 bytes.
    pub(super) secret: Option<SecretSetting>,
    /// Where keys for RS256 and ES256 are published: an https address, or one on this machine.
    pub(super) jwks: Option<String>,
    /// What `aud` may be. When given, a token without `aud` is refused; `issuer` and `jwks` need it.
    #[serde(default)]
    pub(super) audience: Vec<String>,
    /// Who must have issued a token (`iss`). MCP clients are told of it and get their tokens there.
    pub(super) issuer: Option<String>,
    /// Scopes that a token must have (`scope`). MCP clients are told of them.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// The toolset of tokens that do not name one in their claim `toolset`; `"*"` is every tool. When absent, such a
    /// token opens no tool.
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
