//! Sources join, are made anew and leave, while the server runs.

use std::sync::Arc;

use tokio::time::{Instant, timeout};

use super::mount::Mount;
use super::slots::{Definitions, SourceReport, SourceSlot, SourceStatus, Sources};
use crate::BoxFuture;
use crate::catalog::SourceTools;
use crate::message::Message;
use crate::tool::Passthrough;

/// Reads the configuration again and takes it; says why it cannot be used.
pub type Reread = Box<dyn Fn() -> BoxFuture<'static, Result<(), Message>> + Send + Sync>;

impl Sources {
    /// Takes a source in; its tools appear as soon as it lists them. A source of the same name keeps
    /// serving until then, and leaves.
    pub fn mount(self: &Arc<Self>, mount: Mount) {
        self.place(mount);
    }

    fn place(self: &Arc<Self>, mount: Mount) -> Arc<Mount> {
        let (mount, stop) = (Arc::new(mount), self.background.stop().child_token());
        self.slots(|slots| {
            let place = slots.iter().position(|slot| slot.mount.name == mount.name).unwrap_or(slots.len());
            let slot = SourceSlot {
                mount: Arc::clone(&mount),
                listing: Arc::default(),
                offered: Passthrough::default(),
                tools: SourceTools::default(),
                status: SourceStatus::Connecting,
                definitions: Definitions::Unknown,
                placed: Instant::now(),
                keep_at: None,
                stop: stop.clone(),
            };
            slots.insert(place, slot);
            self.progress.update(slots);
        });
        let (sources, placed) = (Arc::clone(self), Arc::clone(&mount));
        self.background.spawn(async move {
            // Side by side: a store that does not answer must not keep the source from being asked.
            let running = async { tokio::join!(sources.recall_definitions(&mount), sources.refresh(&mount)) };
            stop.run_until_cancelled(running).await;
            // Calls take a token when they find their tool in the catalogue, where it is no longer: the wait is for
            // those who found it before, and bounded, because one of them may never end.
            mount.calls.close();
            timeout(sources.rules().limits.drain, mount.calls.wait()).await.ok();
            mount.source.close().await;
        });
        placed
    }

    /// Lets a source go: its tools disappear, calls in flight finish, then it is closed.
    pub fn unmount(&self, name: &str) {
        self.slots(|slots| {
            let gone: Vec<SourceSlot> = slots.extract_if(.., |slot| slot.mount.name == name).collect();
            // Before the source is stopped: no call may find a tool whose source is being closed.
            self.swap(slots);
            for slot in gone {
                slot.stop.cancel();
            }
        });
    }

    /// Says how the configuration is read again, once.
    pub fn reread_by(&self, reread: Reread) {
        self.reread.set(reread).ok();
    }

    /// Reads the configuration again where there is one, makes every source anew where that can be done, and
    /// waits until each has been heard of. The old one serves until its successor lists its tools, and finishes
    /// its calls; a successor that fails is let go, and the old one stays. A configuration that cannot be used
    /// changes nothing; otherwise `begun` is called before the first source is made anew.
    pub(crate) async fn reconnect(
        self: &Arc<Self>,
        begun: impl FnOnce(),
    ) -> Result<Vec<SourceReport>, Message> {
        // One at a time. Whoever comes second finds everything reconnected, and does it once more.
        let Ok(_turn) = self.reconnects.acquire().await else { return Ok(self.reports()) };
        if let Some(reread) = self.reread.get() {
            reread().await?;
        }
        begun();
        let mounts = self.slots(|slots| slots.iter().map(|s| Arc::clone(&s.mount)).collect::<Vec<_>>());
        Ok(self.make_anew(mounts).await)
    }

    /// Makes one source anew, in the same way and without a look at the configuration. None when there is no source of that
    /// name, or none that can be made anew.
    pub(crate) async fn restart(
        self: &Arc<Self>,
        name: &str,
        begun: impl FnOnce(),
    ) -> Result<Option<SourceReport>, Message> {
        let stopping = |_| Message::public("The server is stopping");
        let _turn = self.reconnects.acquire().await.map_err(stopping)?;
        let Some(mount) = self.find(name).filter(|mount| mount.reopen.is_some()) else { return Ok(None) };
        begun();
        let reports = self.make_anew(vec![mount]).await;
        Ok(reports.into_iter().find(|report| report.name == name))
    }

    /// Makes sources anew and waits until each has been heard of.
    async fn make_anew(self: &Arc<Self>, mounts: Vec<Arc<Mount>>) -> Vec<SourceReport> {
        let mut failed = Vec::new();
        let mut successors = Vec::new();
        for mount in mounts {
            match mount.anew() {
                None => {}
                Some(Ok(successor)) => successors.push(self.place(successor)),
                Some(Err(message)) => {
                    failed.push((mount.name.clone(), SourceStatus::Failing(message)));
                }
            }
        }
        self.settled(self.rules().limits.list_timeout).await;
        failed.extend(successors.iter().filter_map(|successor| self.let_go(successor)));
        let mut reports = self.reports();
        for report in &mut reports {
            if let Some((_, status)) = failed.iter().find(|(name, _)| *name == report.name) {
                report.status = status.clone();
            }
        }
        reports
    }

    /// Removes a successor that did not list its tools; gives its name and status if it did not.
    fn let_go(&self, successor: &Arc<Mount>) -> Option<(String, SourceStatus)> {
        self.slots(|slots| {
            let place = slots.iter().position(|slot| Arc::ptr_eq(&slot.mount, successor))?;
            let status = slots[place].status.clone();
            if status == SourceStatus::Ready {
                return None;
            }
            let slot = slots.remove(place);
            slot.stop.cancel();
            self.swap(slots);
            Some((slot.mount.name.clone(), status))
        })
    }
}
