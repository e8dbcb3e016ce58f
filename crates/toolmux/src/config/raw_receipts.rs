//! `[receipts]` as people write it, and what the program makes of it. The doc comments are the reference manual.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_core::receipt::ReceiptSettings;

use super::duration::some_time;

/// The file next to the configuration in which the key is kept that receipts are signed with.
const KEY_FILE: &str = "toolmux.receipts.key";

/// What is kept of each call: who called which tool when, how it ended and how long each step took. Read by
/// `toolmux calls`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReceipts {
    /// How long receipts are kept in the store, such as `"30d"`. They are hash-chained and signed with the key in
    /// `toolmux.receipts.key` in the folder of this file, which is created when it is missing. Needs a `store` other than
    /// `memory`. Default: the last 10,000 are kept in memory.
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
    /// The file of the key that they are signed with.
    pub key: PathBuf,
}

impl RawReceipts {
    pub(super) fn resolve(&self, folder: &Path) -> ReceiptsConfig {
        let RawReceipts { keep, arguments, log } = *self;
        ReceiptsConfig { keep, arguments, log, key: folder.join(KEY_FILE) }
    }
}

impl ReceiptsConfig {
    /// What the gateway needs to know of it.
    pub fn settings(&self) -> ReceiptSettings {
        ReceiptSettings { arguments: self.arguments, log: self.log }
    }
}
