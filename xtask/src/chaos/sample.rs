//! What a server holds at one moment: memory, descriptors, threads and children.

use std::fmt;
use std::fs;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::owned::children;
use crate::bench::usage::resident;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// Resident memory in mebibytes.
    pub(crate) rss: f64,
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    pub(crate) children: usize,
}

impl Held {
    pub(crate) fn by(pid: u32) -> anyhow::Result<Self> {
        let entries =
            |what: &str| Ok::<_, std::io::Error>(fs::read_dir(format!("/proc/{pid}/{what}"))?.count());
        Ok(Self {
            rss: resident(pid)?,
            // The server cannot be traced, so only root sees its descriptors.
            descriptors: match entries("fd") {
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => 0,
                count => count?,
            },
            threads: entries("task")?,
            children: children(pid).len(),
        })
    }

    /// How it changed since, for the table.
    pub(crate) fn since(self, before: Self) -> String {
        format!(
            "RSS {:.0} → {:.0} MB, descriptors {} → {}, threads {} → {}, children {} → {}",
            before.rss,
            self.rss,
            before.descriptors,
            self.descriptors,
            before.threads,
            self.threads,
            before.children,
            self.children
        )
    }
}

impl fmt::Display for Held {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rss, descriptors, threads, children } = self;
        write!(formatter, "{rss:>7.1} {descriptors:>6} {threads:>6} {children:>6}")
    }
}

/// The most memory a process has while this lives.
pub(crate) struct Peak {
    watcher: JoinSet<f64>,
    stop: tokio::sync::watch::Sender<()>,
}

impl Peak {
    pub(crate) fn watch(pid: u32) -> Self {
        let (stop, mut stopped) = tokio::sync::watch::channel(());
        let mut watcher = JoinSet::new();
        watcher.spawn(async move {
            let mut peak: f64 = 0.0;
            loop {
                peak = resident(pid).map_or(peak, |now| now.max(peak));
                tokio::select! {
                    () = sleep(Duration::from_millis(10)) => {}
                    _ = stopped.changed() => return peak,
                }
            }
        });
        Self { watcher, stop }
    }

    pub(crate) async fn end(mut self) -> f64 {
        drop(self.stop);
        self.watcher.join_next().await.and_then(Result::ok).unwrap_or(0.0)
    }
}
