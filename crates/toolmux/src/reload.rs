//! Follows the configuration file: on SIGHUP, and when the file changes, it is read again. A file that
//! cannot be used is reported, and what runs goes on.

use std::path::Path;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::Signal;

use crate::assembly::{Assembly, Reopen};
use crate::config::Config;
use crate::signals::next;

/// How often the file is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// Follows a file for ever; `hang_up` was taken before anybody could send one. Dropping the future ends it.
pub(crate) async fn follow(
    path: &Path,
    mut assembly: Assembly,
    running: &Config,
    mut hang_up: Option<Signal>,
) {
    let mut seen = stamp(path);
    loop {
        let reopen = tokio::select! {
            () = next(&mut hang_up) => Reopen::Everything,
            () = tokio::time::sleep(EVERY) => Reopen::WhatChanged,
        };
        let now = stamp(path);
        if reopen == Reopen::Everything || (now != seen && now.is_some()) {
            seen = now;
            // Looking at thousands of tools again must not keep this thread from answering.
            tokio::task::block_in_place(|| reload(path, &mut assembly, running, reopen));
        }
    }
}

fn reload(path: &Path, assembly: &mut Assembly, running: &Config, reopen: Reopen) {
    match read(path, running).and_then(|config| assembly.change(&config, reopen).map(|()| config)) {
        Ok(config) => {
            tracing::info!("the configuration was read again");
            for name in config.needs_restart(running) {
                tracing::warn!("`{name}` changes only with a restart");
            }
        }
        Err(error) => tracing::error!("the new configuration is not used: {error:#}"),
    }
}

/// The new configuration, unless it would open to others what we listen on now.
fn read(path: &Path, running: &Config) -> anyhow::Result<Config> {
    let config =
        Config::load(path).and_then(|config| config.check_exposed_at(running.listen).map(|()| config));
    config.map_err(|fault| match &fault.hint {
        Some(hint) => anyhow::anyhow!("{fault} (hint: {hint})"),
        None => fault.into(),
    })
}

/// What tells one state of a file from another.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}
