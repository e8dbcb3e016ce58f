//! Calls in the store of a configuration.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;
use toolmux_core::hex::from_hex;
use toolmux_core::plural::counted;
use toolmux_core::ports::store::{ReceiptHead, ReceiptReader};
use toolmux_core::receipt::{
    ChainChange, ChainEvent, ChainHead, ChainReport, Receipt, ReceiptFilter, ReceiptId, SeenChain,
    Verification, list_kept, verify,
};
use toolmux_core::secret::Secret;
use toolmux_store::ReadOnlyStore;

use super::print::print_followed;
use crate::cli::db::{failed, look};
use crate::cli::failure::{Failure, REFUSED};
use crate::cli::terminal::{Form, note, print_line};
use crate::config::Config;
use crate::receipt_anchors::anchors;
use crate::receipt_signing::KnownKeys;

/// How often a store is looked at for calls that have ended.
const FOLLOW_EVERY: Duration = Duration::from_millis(500);
/// How many are read at a time.
const TOGETHER: usize = 500;
/// How long receipts are taken to be kept where no configuration says it.
const USUAL_KEEP: Duration = Duration::from_hours(24 * 30);

/// A store and what the configuration says of it.
pub(super) struct KeptCalls {
    store: ReadOnlyStore,
    keep: Duration,
    keys: KnownKeys,
    /// The last heads that servers wrote outside the store.
    anchors: Vec<SeenChain>,
}

impl KeptCalls {
    pub(super) async fn open(config: &Path, store: Option<&str>) -> Result<Self, Failure> {
        let (url, keep, keys, anchors) = match store {
            Some(url) => (Secret::new(url), USUAL_KEEP, KnownKeys::default(), Vec::new()),
            None => {
                let Config { store, receipts, .. } = Config::load(config)?;
                let keep = receipts.keep.unwrap_or(USUAL_KEEP);
                (store, keep, KnownKeys::of(&receipts)?, anchors(&receipts.anchors))
            }
        };
        if url.expose() == "memory" {
            return Err(Failure::refused(anyhow::anyhow!("the store is `memory`, which only the running server can read"))
                .hint("--url http://127.0.0.1:9627 asks a running server; `[receipts] keep` with a store keeps them"));
        }
        Ok(KeptCalls { store: look(&url).await?, keep, keys, anchors })
    }

    pub(super) async fn list(&self, filter: &ReceiptFilter, most: usize) -> Result<Vec<Receipt>, Failure> {
        let kept = list_kept(self.store.receipts(), filter, most).await.map_err(failed)?;
        tell_events(&kept.events);
        if kept.receipts.is_empty() && self.store.receipts().receipt_heads().await.map_err(failed)?.is_empty()
        {
            note("there are no receipts in this store; `[receipts] keep = \"30d\"` keeps them");
        }
        Ok(kept.receipts)
    }

    pub(super) async fn find(&self, id: ReceiptId) -> Result<Receipt, Failure> {
        let found = self.store.receipts().receipt_find(id).await.map_err(failed)?;
        let receipt = found.and_then(|body| serde_json::from_str(&body).ok());
        receipt.ok_or_else(|| {
            Failure::refused(anyhow::anyhow!("there is no receipt `{id}`; it may have expired"))
                .hint("`toolmux calls` lists them")
        })
    }

    /// Calls of every server that ends them from now on. Ends with the command.
    pub(super) async fn follow(&self, filter: &ReceiptFilter, form: Form) -> Result<(), Failure> {
        let store = self.store.receipts();
        let mut read: Option<HashMap<String, u64>> = None;
        loop {
            let heads = store.receipt_heads().await.map_err(failed)?;
            let first = read.is_none();
            let read = read.get_or_insert_default();
            for ReceiptHead { server, .. } in heads {
                // What is there when we come is not news; a server that comes later is read from its beginning.
                let after = read.get(&server).copied().unwrap_or(0);
                let last = follow_chain(store, &server, after, |receipt| {
                    if !first && filter.fits(receipt) {
                        print_followed(receipt, form);
                    }
                });
                let last = last.await?;
                read.insert(server, last);
            }
            sleep(FOLLOW_EVERY).await;
        }
    }

    pub(super) async fn verify(&self, form: Form) -> Result<ExitCode, Failure> {
        let check_key = &|head: &ReceiptHead| self.keys.check(head);
        let verification = Verification { check_key, keep: self.keep, anchors: &self.anchors };
        let reports = verify(self.store.receipts(), &verification).await.map_err(failed)?;
        if self.anchors.is_empty() && !reports.is_empty() {
            note(
                "there are no anchors next to the configuration: a store that was reset to an earlier state is not detected",
            );
        }
        self.print_keys(&reports);
        for report in &reports {
            print_line(&match form {
                Form::Programs => report_json(report).to_string(),
                Form::People => report_line(report),
            });
        }
        let bad = reports.iter().any(|report| !report.faults.is_empty());
        Ok(if bad { ExitCode::from(REFUSED) } else { ExitCode::SUCCESS })
    }

    /// Which keys signed, how many chains each, and what is known of it.
    fn print_keys(&self, reports: &[ChainReport]) {
        let mut keys: BTreeMap<&str, usize> = BTreeMap::new();
        for report in reports.iter().filter(|report| report.head.is_some()) {
            *keys.entry(&report.key).or_default() += 1;
        }
        for (key, chains) in keys {
            let known = self.keys.describe(&from_hex(key).unwrap_or_default());
            note(&format!("key {key} signed {}, {known}", counted(chains, "chain")));
        }
    }
}

/// Reads a chain to its end; the number of its last link.
async fn follow_chain(
    store: &dyn ReceiptReader,
    server: &str,
    mut after: u64,
    each: impl Fn(&Receipt),
) -> Result<u64, Failure> {
    loop {
        let links = store.receipt_chain(server, after, TOGETHER).await.map_err(failed)?;
        for link in &links {
            if let Ok(receipt) = serde_json::from_str(&link.body) {
                each(&receipt);
            }
        }
        match links.last() {
            Some(last) => after = last.seq,
            None => return Ok(after),
        }
    }
}

/// What is missing between the calls that are listed.
fn tell_events(events: &[ChainEvent]) {
    for event in events {
        let at = humantime::format_rfc3339_millis(event.id.at());
        match &event.event {
            ChainChange::Started { .. } | ChainChange::Seen { .. } => {}
            ChainChange::Lost { receipts } => {
                note(&format!(
                    "{at}: {receipts} receipts were lost, because the store did not take them in time"
                ));
            }
            ChainChange::Killed { server, calls } => {
                note(&format!(
                    "{at}: {calls} calls of server {server}, which was killed, may lack a receipt"
                ));
            }
        }
    }
}

fn report_line(report: &ChainReport) -> String {
    let faults: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
    let state = if faults.is_empty() { format!("ok, {} links", report.links) } else { faults.join("; ") };
    let mut parts = vec![format!("{}  {state}", report.server)];
    if let Some(head) = &report.head {
        parts.push(format!("pid {} on {}", head.pid, head.host));
        if !head.stopped {
            let open = head.unaccounted();
            parts.push(format!("not stopped: {open} calls without a receipt when it last wrote"));
        }
    }
    if report.lost > 0 {
        parts.push(format!("{} receipts lost", report.lost));
    }
    parts.join(", ")
}

fn report_json(report: &ChainReport) -> serde_json::Value {
    let faults: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
    let head = report.head.as_ref();
    json!({
        "server": report.server,
        "key": report.key,
        "ok": faults.is_empty(),
        "links": report.links,
        "lost": report.lost,
        "stopped": head.map(|head| head.stopped),
        "unaccounted": head.map(ChainHead::unaccounted),
        "faults": faults,
    })
}
