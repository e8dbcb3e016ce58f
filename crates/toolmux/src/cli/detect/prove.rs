//! Whether a source answers: it is opened, asked for its tools, and closed again.

use std::time::Duration;

use toolmux_core::message::Message;
use toolmux_core::source::Listing;

use crate::config::SourceConfig;

/// How long a source gets to list its tools; a package that is downloaded first takes its time.
const PATIENCE: Duration = Duration::from_mins(2);

/// What a source lists, or why it does not. Dropping the future ends what it started.
pub(in crate::cli) async fn prove(source: &SourceConfig) -> Result<Listing, Message> {
    let opened = source.open().map_err(|error| Message::public(format!("{error:#}")))?;
    let listed = tokio::time::timeout(PATIENCE, opened.tools()).await;
    opened.close().await;
    match listed {
        Ok(listed) => listed.map_err(|error| error.message()),
        Err(_) => Err(Message::public(format!("it did not list its tools within {} s", PATIENCE.as_secs()))),
    }
}
