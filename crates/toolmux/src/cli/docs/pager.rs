//! Shows a page: by the pager of a user who reads on a terminal, on standard output otherwise.

use std::io::IsTerminal;
use std::process::Stdio;

use anyhow::Context;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::cli::failure::Failure;
use crate::cli::terminal::print_line;
use crate::signals::{EndSignal, end_signal};

pub(super) async fn show(text: &str) -> Result<(), Failure> {
    let pager = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    match pager.filter(|_| std::io::stdout().is_terminal()) {
        Some(pager) => through(&pager, text).await,
        None => {
            print_line(text.trim_end());
            Ok(())
        }
    }
}

async fn through(pager: &str, text: &str) -> Result<(), Failure> {
    // A shell reads it, as for other programs: it may have options. A signal that ends this program ends it too.
    let mut child = Command::new("sh")
        .args(["-c", pager])
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("the pager `{pager}` cannot be started"))?;
    let reading = async {
        if let Some(mut input) = child.stdin.take() {
            // Whoever leaves the pager early has read enough.
            input.write_all(text.as_bytes()).await.ok();
        }
        child.wait().await
    };
    tokio::pin!(reading);
    loop {
        tokio::select! {
            ended = &mut reading => return ended.map(drop).map_err(Failure::refused),
            signal = end_signal() => {
                // Ctrl-C is for the pager, which has the terminal; other signals end both.
                if signal != EndSignal::Interrupt {
                    return Err(Failure::ended_by(signal));
                }
            }
        }
    }
}
