//! Follows the configuration file: on SIGHUP, when a caller resets, and when the file changes, it is read
//! again. A file that cannot be used is reported, and what runs goes on.

use std::path::Path;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::Signal;
use tokio::sync::{mpsc, oneshot};
use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::gateway::Gateway;
use toolmux_core::message::Message;

use crate::assembly::{Assembly, Reopen};
use crate::config::Config;
use crate::signals::next;

/// How often the file is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// How many wait at a time for the file to be read again.
const WAITING: usize = 16;

/// Somebody who wants the file read again, and hears whether it could be used.
pub(crate) type Wish = oneshot::Sender<Result<(), Message>>;

/// Lets callers have the file read again.
pub(crate) fn wishes(gateway: &Gateway) -> mpsc::Receiver<Wish> {
    let (sender, wishes) = mpsc::channel(WAITING);
    gateway.reread_by(Box::new(move || {
        let sender = sender.clone();
        Box::pin(async move {
            let stopping = || Message::public("The server is stopping");
            let (wish, answer) = oneshot::channel();
            sender.send(wish).await.map_err(|_| stopping())?;
            answer.await.map_err(|_| stopping())?
        })
    }));
    wishes
}

/// What tells us to look at the file: `hang_up` was taken before anybody could send one.
pub(crate) struct Calls {
    pub(crate) hang_up: Option<Signal>,
    pub(crate) wishes: mpsc::Receiver<Wish>,
}

/// Follows a file for ever. Dropping the future ends it.
pub(crate) async fn follow(path: &Path, mut assembly: Assembly, running: &Config, mut calls: Calls) {
    let mut seen = stamp(path);
    loop {
        let (reopen, wish) = tokio::select! {
            () = next(&mut calls.hang_up) => (Reopen::Everything, None),
            Some(wish) = calls.wishes.recv() => (Reopen::WhatChanged, Some(wish)),
            () = tokio::time::sleep(EVERY) => (Reopen::WhatChanged, None),
        };
        let now = stamp(path);
        if wish.is_some() || reopen == Reopen::Everything || (now != seen && now.is_some()) {
            seen = now;
            // Looking at thousands of tools again must not keep this thread from answering.
            let taken = tokio::task::block_in_place(|| reload(path, &mut assembly, running, reopen));
            if let Some(wish) = wish {
                wish.send(taken).ok();
            }
        }
    }
}

fn reload(path: &Path, assembly: &mut Assembly, running: &Config, reopen: Reopen) -> Result<(), Message> {
    match read(path, running).and_then(|config| assembly.change(&config, reopen).map(|()| config)) {
        Ok(config) => {
            tracing::info!("the configuration was read again");
            assembly.gateway.audit(AuditRecord::now("", AuditAction::ConfigReloaded, ""));
            for name in config.needs_restart(running) {
                tracing::warn!("`{name}` changes only with a restart");
            }
            Ok(())
        }
        Err(error) => {
            tracing::error!("the new configuration is not used: {error:#}");
            let unusable = Message::public("The new configuration cannot be used; the server's log says why");
            Err(unusable.developer(format!("{error:#}")))
        }
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
