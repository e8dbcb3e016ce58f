//! Follows the configuration file: on SIGHUP, when a caller resets, and when the file, one that a secret is kept in or
//! one that it imports changes, it is read again. A file that cannot be used is reported, and what runs goes on.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::Signal;
use tokio::sync::{mpsc, oneshot};
use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::gateway::Gateway;
use toolmux_core::message::Message;
use toolmux_core::secret::Secret;

use crate::assembly::{Assembly, Reopen};
use crate::config::{Config, ConfigFault};
use crate::console_view::ConsoleView;
use crate::listener::ListenTls;
use crate::secret_files::{SecretFile, Stamp, rotated, secret_files};
use crate::signals::next;

/// How often the file is looked at.
const EVERY: Duration = Duration::from_millis(250);

/// How many wait at a time for the file to be read again.
const WAITING: usize = 16;

/// Somebody who wants the file read again, and hears whether it could be used.
pub(crate) type ReloadRequest = oneshot::Sender<Result<(), Message>>;

/// Lets callers have the file read again.
pub(crate) fn wishes(gateway: &Gateway) -> mpsc::Receiver<ReloadRequest> {
    let (sender, wishes) = mpsc::channel(WAITING);
    gateway.sources().reread_by(Box::new(move || {
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
    pub(crate) wishes: mpsc::Receiver<ReloadRequest>,
}

/// A file that was read.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    /// Before it was read: what changes from then on is a change.
    seen: Option<Stamp>,
    secrets: Vec<SecretFile>,
}

impl File {
    /// The file as it is, to be read only now.
    pub(crate) fn now(path: PathBuf) -> Self {
        let secrets = secret_files(&path);
        File { seen: Stamp::of(&path, &secrets), path, secrets }
    }
}

/// What was seen of the file.
struct Looks<S> {
    /// What was taken up.
    taken: Option<S>,
    last: Option<S>,
}

impl<S: PartialEq + Clone> Looks<S> {
    /// True for a change that two looks in a row agree on: a program that empties the file before it writes it
    /// must not leave the server without sources for a moment.
    fn find_change(&mut self, now: Option<&S>) -> bool {
        let is_written = now == self.last.as_ref();
        self.last = now.cloned();
        is_written && now.is_some() && now != self.taken.as_ref()
    }
}

/// What the command line says over the file.
#[derive(Clone, Default)]
pub(crate) struct Flags {
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) store: Option<Secret>,
    pub(crate) log_calls: bool,
}

impl Flags {
    /// The flags win over the file.
    pub(crate) fn over(&self, mut config: Config) -> Config {
        config.listen = self.listen.unwrap_or(config.listen);
        config.receipts.log |= self.log_calls;
        if let Some(store) = &self.store {
            config.store.clone_from(store);
        }
        config
    }
}

/// Follows a file for ever. Dropping the future ends it.
pub(crate) async fn follow(file: &File, mut follower: Follower<'_>, mut calls: Calls) {
    let mut secrets = file.secrets.clone();
    let mut looks = Looks { taken: file.seen.clone(), last: file.seen.clone() };
    // Sources whose secrets changed in their files; kept until a configuration was used that can open them anew.
    let mut changed: Vec<String> = Vec::new();
    loop {
        let (everything, wish) = tokio::select! {
            () = next(&mut calls.hang_up) => (true, None),
            Some(wish) = calls.wishes.recv() => (false, Some(wish)),
            () = tokio::time::sleep(EVERY) => (false, None),
        };
        let now = Stamp::of(&file.path, &secrets);
        let has_changed = looks.find_change(now.as_ref());
        if wish.is_none() && !everything && !has_changed {
            continue;
        }
        changed.extend(rotated(looks.taken.as_ref(), now.as_ref(), &secrets));
        let reopen =
            if everything { Reopen::Everything } else { Reopen::WhatChanged { rotated: changed.clone() } };
        // Which files hold secrets, and how they are, is looked at before they are read: what changes while they are
        // read is then a change at the next look.
        secrets = secret_files(&file.path);
        looks.taken = Stamp::of(&file.path, &secrets);
        looks.last.clone_from(&looks.taken);
        // Looking at thousands of tools again must not keep this thread from answering.
        let taken = tokio::task::block_in_place(|| follower.reload(file, &reopen));
        if taken.is_ok() {
            changed.clear();
        }
        if let Some(wish) = wish {
            wish.send(taken).ok();
        }
    }
}

/// Whom a changed file concerns.
pub(crate) struct Follower<'a> {
    assembly: Assembly,
    /// What the server was started with.
    running: &'a Config,
    flags: Flags,
    /// The TLS of the listener, if it has any.
    tls: Option<ListenTls>,
    /// What the console shows of the configuration.
    shown: Option<Arc<ConsoleView>>,
    /// Keys that wait for a restart, and were told of.
    waiting: Vec<&'static str>,
}

impl<'a> Follower<'a> {
    pub(crate) fn new(assembly: Assembly, running: &'a Config, flags: Flags) -> Self {
        Follower { assembly, running, flags, tls: None, shown: None, waiting: Vec::new() }
    }

    /// Says by which TLS the server is reached, which follows the configuration too.
    pub(crate) fn serving_by(mut self, tls: Option<ListenTls>) -> Self {
        self.tls = tls;
        self
    }

    /// Says what shows the configuration, which is told of every change of it.
    pub(crate) fn shown_by(mut self, view: Arc<ConsoleView>) -> Self {
        self.shown = Some(view);
        self
    }

    fn reload(&mut self, file: &File, reopen: &Reopen) -> Result<(), Message> {
        let taken = self.read(file).and_then(|config| match self.assembly.change(&config, reopen) {
            Ok(()) => Ok(config),
            // The same fault with its line, when it is that of a source.
            Err(error) => Err(config.opening_fault(&file.path).map_or(error, located)),
        });
        match taken {
            Ok(config) => {
                if let (Some(tls), Some(new)) = (&self.tls, &config.tls) {
                    tls.replace(Arc::clone(new));
                }
                tracing::info!("the configuration was reloaded");
                self.assembly.gateway.audit(AuditRecord::now("", AuditAction::ConfigReloaded, ""));
                self.tell_what_waits(&config);
                if let Some(shown) = &self.shown {
                    shown.taken(&config, &self.waiting, self.assembly.broker());
                }
                Ok(())
            }
            Err(error) => {
                tracing::error!("the new configuration is not used: {error:#}");
                if let Some(shown) = &self.shown {
                    shown.not_taken(&format!("{error:#}"));
                }
                let unusable =
                    Message::public("The new configuration cannot be used; the server's log says why");
                Err(unusable.developer(format!("{error:#}")))
            }
        }
    }

    /// Says of each key once that its change takes a restart.
    fn tell_what_waits(&mut self, config: &Config) {
        let waiting = config.needs_restart(self.running);
        for name in waiting.iter().filter(|name| !self.waiting.contains(name)) {
            tracing::warn!("`{name}` has changed, which needs a restart: until then the old value is used");
        }
        self.waiting = waiting;
    }

    /// The new configuration, unless it would open to others what we listen on now.
    fn read(&self, file: &File) -> anyhow::Result<Config> {
        let exposed = |fault: ConfigFault| fault.at_key(&file.path, "listen");
        let config = Config::load(&file.path).and_then(|config| {
            config.check_exposed_at(self.running.listen).map(|()| config).map_err(exposed)
        });
        config.map(|config| self.flags.over(config)).map_err(located)
    }
}

fn located(fault: ConfigFault) -> anyhow::Error {
    anyhow::anyhow!(fault.summary())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these sizes of the file, one at each look, are taken up.
    fn check(sizes: &[Option<u64>], expect: &[u64]) {
        let mut looks = Looks { taken: Some(9), last: Some(9) };
        let mut taken = Vec::new();
        for size in sizes {
            if looks.find_change(size.as_ref()) {
                looks.taken = *size;
                taken.extend(*size);
            }
        }
        assert_eq!(taken, expect, "{sizes:?}");
    }

    #[test]
    fn a_change_is_taken_up_once_it_stays() {
        check(&[Some(9), Some(9)], &[]);
        check(&[Some(7), Some(7), Some(7)], &[7]);
        check(&[Some(7), Some(7), Some(9), Some(9)], &[7, 9]);
    }

    #[test]
    fn a_file_that_is_being_written_is_left_alone() {
        check(&[Some(0), Some(4), Some(7), Some(7)], &[7]);
        check(&[Some(0), Some(9), Some(9)], &[]);
        check(&[None, None, Some(7), Some(7)], &[7]);
    }
}
