//! Whether a source answers: it is opened, asked for its tools, and closed again.

use std::time::Duration;

use toolmux_core::message::Message;
use toolmux_core::ports::source::Listing;

use crate::cli::closing::until_signal;
use crate::cli::failure::Failure;
use crate::config::SourceConfig;

/// How long a source gets to list its tools; a package that is downloaded first takes its time.
const LISTING_TIMEOUT: Duration = Duration::from_mins(2);

/// What a source lists, or why it does not. A signal ends it early, with what the source started.
pub(in crate::cli) async fn probe(source: &SourceConfig) -> Result<Result<Listing, Message>, Failure> {
    let opened = match source.open() {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(Message::public(format!("{error:#}")))),
    };
    let listed = until_signal(tokio::time::timeout(LISTING_TIMEOUT, opened.tools())).await;
    until_signal(opened.close()).await?;
    Ok(match listed? {
        Ok(listed) => listed.map_err(|error| error.message()),
        Err(_) => {
            Err(Message::public(format!("it did not list its tools within {} s", LISTING_TIMEOUT.as_secs())))
        }
    })
}
