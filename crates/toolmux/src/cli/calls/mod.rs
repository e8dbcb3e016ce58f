//! `toolmux calls`: what happened to each call, at a running server or in the store of a configuration.

mod kept;
mod print;
mod served;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Subcommand;
use toolmux_core::receipt::{Receipt, ReceiptFilter, ReceiptId};

use self::kept::KeptCalls;
use self::print::{print_one, print_receipts};
use self::served::ServedCalls;
use super::closing::until_signal;
use super::failure::Failure;
use super::remote::KeyOptions;
use super::terminal::{Form, Terminal};
use toolmux_console::{MOST_LISTED, since};

/// List past calls, follow new ones, verify the record.
///
/// Calls a running server (--url, with the key of an operator), or reads the store of a configuration that keeps
/// receipts (`[receipts] keep`).
///
/// Example: toolmux calls --url http://127.0.0.1:9627 --failed --since 1h
///
/// Example: toolmux calls --tool 'GitHub.*' --json > calls.jsonl
#[derive(clap::Args)]
pub(super) struct Calls {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    wanted: Wanted,
    /// Print calls as they finish, until Ctrl-C.
    #[arg(long)]
    follow: bool,
    /// Print JSON, one object per line.
    #[arg(long, global = true)]
    json: bool,
}

/// Where the receipts of calls are read.
#[derive(clap::Args)]
struct Place {
    /// The address of a running server.
    #[arg(long, global = true)]
    url: Option<String>,
    #[command(flatten)]
    key: KeyOptions,
    /// The configuration that names the store.
    #[arg(long, default_value = "toolmux.toml", global = true)]
    config: PathBuf,
    /// The store; overrides the configuration.
    #[arg(long, value_name = "URL", global = true, conflicts_with = "url")]
    store: Option<String>,
}

/// Which calls are listed or followed.
#[derive(clap::Args)]
struct Wanted {
    /// Only calls of this caller; `*` matches any text.
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,
    /// Only calls of these tools: `Kit.tool`, `Kit.*`.
    #[arg(long, value_name = "PATTERN")]
    tool: Option<String>,
    /// Only calls that failed, were refused or were cancelled.
    #[arg(long)]
    failed: bool,
    /// Only calls that began within this time or since: `1h`, `30m`, 2026-11-18T04:30:00Z.
    #[arg(long, value_name = "TIME", value_parser = |text: &str| since(text))]
    since: Option<SystemTime>,
    /// The maximum number of calls, newest first.
    #[arg(long, value_name = "COUNT", default_value = "100")]
    limit: usize,
}

#[derive(Subcommand)]
enum Action {
    /// Print one call in full, with its steps.
    ///
    /// Example: toolmux calls show 4f1c09ab77e2 --url http://127.0.0.1:9627
    Show {
        /// The id of its receipt, or the end of the id as shown in the list.
        id: String,
    },
    /// Check the hash chains and signatures of the store: whether receipts were edited, removed, reordered or cut off.
    ///
    /// Example: toolmux calls verify --config toolmux.toml
    Verify,
}

impl Wanted {
    fn filter(&self) -> ReceiptFilter {
        let Wanted { caller, tool, failed, since, .. } = self;
        ReceiptFilter { caller: caller.clone(), tool: tool.clone(), failed: *failed, since: *since }
    }
}

impl Calls {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        let form = if self.json { Form::Programs } else { Form::People };
        match &self.action {
            None if self.follow => {
                // Following ends by a signal, which is an ordinary end.
                until_signal(self.follow(form)).await.unwrap_or(Ok(ExitCode::SUCCESS))
            }
            None => {
                let receipts = self.list(&self.wanted.filter(), self.wanted.limit).await?;
                print_receipts(&receipts, form, terminal);
                Ok(ExitCode::SUCCESS)
            }
            Some(Action::Show { id }) => {
                print_one(&self.find(id).await?, form);
                Ok(ExitCode::SUCCESS)
            }
            Some(Action::Verify) => self.verify(form).await,
        }
    }

    async fn list(&self, filter: &ReceiptFilter, most: usize) -> Result<Vec<Receipt>, Failure> {
        match &self.place.url {
            Some(url) => ServedCalls::at(url, &self.place.key)?.list(filter, most).await,
            None => self.kept().await?.list(filter, most).await,
        }
    }

    /// A receipt by its id, or the newest whose id ends like that.
    async fn find(&self, id: &str) -> Result<Receipt, Failure> {
        match (id.parse::<ReceiptId>(), &self.place.url) {
            (Ok(id), Some(url)) => ServedCalls::at(url, &self.place.key)?.find(id).await,
            (Ok(id), None) => self.kept().await?.find(id).await,
            (Err(_), _) => {
                let newest = self.list(&ReceiptFilter::default(), MOST_LISTED).await?;
                let ends = |receipt: &Receipt| !id.is_empty() && receipt.id.to_string().ends_with(id);
                newest.into_iter().find(ends).ok_or_else(|| {
                    Failure::refused(anyhow::anyhow!("there is no receipt whose id ends with `{id}`"))
                        .hint("`toolmux calls` lists them")
                })
            }
        }
    }

    async fn follow(&self, form: Form) -> Result<ExitCode, Failure> {
        let filter = self.wanted.filter();
        match &self.place.url {
            Some(url) => ServedCalls::at(url, &self.place.key)?.follow(&filter, form).await?,
            None => self.kept().await?.follow(&filter, form).await?,
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn verify(&self, form: Form) -> Result<ExitCode, Failure> {
        if self.place.url.is_some() {
            return Err(Failure::refused(anyhow::anyhow!("`calls verify` reads the store itself"))
                .hint("name the configuration with --config, or the store with --store"));
        }
        self.kept().await?.verify(form).await
    }

    async fn kept(&self) -> Result<KeptCalls, Failure> {
        KeptCalls::open(&self.place.config, self.place.store.as_deref()).await
    }
}
