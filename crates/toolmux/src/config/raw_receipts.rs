//! `[receipts]` as people write it, and what the program makes of it. The doc comments are the reference manual.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_core::hex::from_hex;
use toolmux_core::receipt::ReceiptSettings;
use toolmux_core::secret::Secret;
use toolmux_protocols::registry::SecretSetting;

use super::duration::some_time;
use super::fault::ConfigFault;
use super::resolve::Reader;
use crate::environment::variable;

/// The file in which the key is kept that receipts are signed with.
const KEY_FILE: &str = "toolmux.receipts.key";
/// The folder next to it for the last heads of chains.
const ANCHORS: &str = "toolmux.receipts.anchors";
/// Where a service keeps its state, by systemd's convention.
const STATE_FOLDER: &str = "STATE_DIRECTORY";

/// What is kept of each call: who called which tool when, how it ended and how long each step took. Read by
/// `toolmux calls`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReceipts {
    /// How long receipts are kept in the store, such as `"30d"`. They are hash-chained and signed. Needs a `store` other
    /// than `memory`. Default: the last 10,000 are kept in memory.
    #[serde(default, deserialize_with = "some_time")]
    #[schemars(with = "Option<String>")]
    keep: Option<Duration>,
    /// Keep the arguments of calls too, up to 4 KiB each, without values that a schema marks with `writeOnly` or
    /// `format: "password"`, and without known secrets.
    #[serde(default)]
    arguments: bool,
    /// Log one line for each call, as `serve --log-calls` does.
    #[serde(default)]
    log: bool,
    /// The Ed25519 key that receipts are signed with: 64 hexadecimal digits, as `openssl rand -hex 32` makes them. Give all
    /// replicas the same one. Default: each server makes its own in `toolmux.receipts.key` in `folder`.
    #[serde(default)]
    key: Option<SecretSetting>,
    /// Public keys whose signatures `toolmux calls verify` accepts besides that of `key`, in hexadecimal, as it prints them.
    /// With `key` or `trusted`, it fails for every other key. Default: any key is accepted.
    #[serde(default)]
    trusted: Vec<String>,
    /// The folder for the key and for the last head of each chain, which must be writable. Default: `$STATE_DIRECTORY`
    /// where it is set, as systemd does; otherwise the folder of a SQLite store; otherwise the folder of this file.
    #[serde(default)]
    folder: Option<PathBuf>,
}

/// What is done with receipts of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptsConfig {
    /// How long they are kept in the store; absent means in memory only.
    pub keep: Option<Duration>,
    /// Arguments are kept, without secrets.
    pub arguments: bool,
    /// A line is logged for each call.
    pub log: bool,
    /// The key that they are signed with; absent means one of this server alone.
    pub key: Option<Secret>,
    /// The file of the key of this server alone.
    pub key_file: PathBuf,
    /// The folder for the last heads of chains.
    pub anchors: PathBuf,
    /// Public keys that are trusted besides.
    pub trusted: Vec<Vec<u8>>,
}

impl RawReceipts {
    pub(super) fn resolve(&self, reader: &Reader<'_>, store: &Secret) -> ReceiptsConfig {
        let folder = self.folder_of(reader.folder, store);
        let key = self.key.as_ref().filter(|key| !reader.is_unset(key));
        let trusted = self.trusted.iter().filter_map(|key| reader.kept(public_key(reader, key)));
        ReceiptsConfig {
            keep: self.keep,
            arguments: self.arguments,
            log: self.log,
            key: key.and_then(|key| reader.kept(reader.secret(&["receipts", "key"], key))),
            key_file: folder.join(KEY_FILE),
            anchors: folder.join(ANCHORS),
            trusted: trusted.collect(),
        }
    }

    fn folder_of(&self, config: &Path, store: &Secret) -> PathBuf {
        if let Some(folder) = &self.folder {
            return config.join(folder);
        }
        // Where an earlier version made it.
        if config.join(KEY_FILE).exists() {
            return config.to_owned();
        }
        if let Some(folder) = variable(STATE_FOLDER).filter(|folder| !folder.is_empty()) {
            return config.join(folder);
        }
        let file = store.expose().strip_prefix("sqlite:").filter(|file| !file.starts_with(':'));
        let folder = file.and_then(|file| Path::new(file.split('?').next().unwrap_or(file)).parent());
        folder.unwrap_or(config).to_owned()
    }
}

fn public_key(reader: &Reader<'_>, key: &str) -> Result<Vec<u8>, ConfigFault> {
    let what = "a key of `trusted` is 64 hexadecimal digits";
    from_hex(key).filter(|key| key.len() == 32).ok_or_else(|| {
        reader.fault(&["receipts", "trusted"], what.to_owned()).hint("`toolmux calls verify` prints them")
    })
}

impl ReceiptsConfig {
    /// What the gateway needs to know of it.
    pub fn settings(&self) -> ReceiptSettings {
        ReceiptSettings { arguments: self.arguments, log: self.log }
    }
}
