//! `toolmux keys`: keys that live in the store, added and revoked while servers run.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;
use http::Method;
use serde::Deserialize;
use serde_json::Value;
use toolmux_console::{KnownNames, NewKey, key_as_json, revoke_key};
use toolmux_core::ports::store::{Retention, Store};
use toolmux_core::secret::Secret;

use super::console_client::ConsoleClient;
use super::db::failed;
use super::failure::Failure;
use super::remote::KeyOptions;
use super::table::Table;
use super::terminal::{Terminal, note, print_line};
use crate::assembly::store;
use crate::config::Config;

/// Add, list and revoke keys in the store, without a restart.
///
/// They are valid in addition to the keys of the configuration, at every server that uses the store. A revoked key stops
/// working within a second. Calls a running server (--url, with the key of an operator), or changes the store of a
/// configuration.
///
/// Example: toolmux keys add ci --toolset builds
#[derive(clap::Args)]
pub(super) struct Keys {
    #[command(subcommand)]
    action: Action,
    /// The address of a running server.
    #[arg(long, global = true)]
    url: Option<String>,
    #[command(flatten)]
    key: KeyOptions,
    /// The configuration that names the store.
    #[arg(long, default_value = "toolmux.toml", global = true)]
    config: PathBuf,
    /// Print JSON, one object per line.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Create a key and print it. It is shown only once: the store keeps its hash.
    ///
    /// Example: toolmux keys add ops --operator
    Add {
        /// The name of the caller, in logs and receipts.
        name: String,
        /// Allow only the tools of this toolset.
        #[arg(long, value_name = "TOOLSET")]
        toolset: Option<String>,
        /// Allow the caller to see the calls of all callers and to manage keys.
        #[arg(long, conflicts_with = "toolset")]
        operator: bool,
    },
    /// List the keys in the store, with the time of their last use.
    ///
    /// Example: toolmux keys list --config toolmux.toml
    List,
    /// Revoke a key, so that it is no longer accepted.
    ///
    /// Example: toolmux keys revoke ci
    Revoke {
        /// The name of the caller.
        name: String,
    },
}

/// Where the keys are.
enum Place {
    Server(ConsoleClient),
    Store { store: Arc<dyn Store>, config: Box<Config> },
}

#[derive(Deserialize)]
struct AddedKey {
    key: String,
}

#[derive(Deserialize)]
struct ListedKeys {
    keys: Vec<Value>,
}

impl Keys {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        let place = match &self.url {
            Some(url) => Place::Server(ConsoleClient::new(url, &self.key)?),
            None => self.open_store().await?,
        };
        let done = self.act(&place, terminal).await;
        if let Place::Store { store, .. } = &place {
            store.close().await;
        }
        done.map(|()| ExitCode::SUCCESS)
    }

    async fn act(&self, place: &Place, terminal: &Terminal) -> Result<(), Failure> {
        match &self.action {
            Action::Add { name, toolset, operator } => {
                let new = NewKey { name: name.clone(), toolset: toolset.clone(), operator: *operator };
                let key = place.add(&new).await?;
                if self.json {
                    print_line(&serde_json::json!({ "name": name, "key": key.expose() }).to_string());
                } else {
                    note(&format!("the key of `{name}`; it is shown only once:"));
                    print_line(key.expose());
                }
            }
            Action::List => {
                let keys = place.list().await?;
                if self.json {
                    for key in &keys {
                        print_line(&key.to_string());
                    }
                } else {
                    table(&keys).print(terminal);
                }
            }
            Action::Revoke { name } => {
                place.revoke(name).await?;
                note(&format!("the key of `{name}` is revoked"));
            }
        }
        Ok(())
    }

    async fn open_store(&self) -> Result<Place, Failure> {
        let config = Config::load(&self.config)?;
        if config.store.expose() == "memory" {
            return Err(Failure::refused(anyhow::anyhow!("the store is `memory`, which only the running server can read"))
                .hint("--url http://127.0.0.1:9627 asks a running server; `store = \"sqlite:toolmux.db\"` keeps them"));
        }
        let store = store(&config.store, Retention::default()).await?;
        Ok(Place::Store { store, config: Box::new(config) })
    }
}

impl Place {
    async fn add(&self, new: &NewKey) -> Result<Secret, Failure> {
        match self {
            Place::Server(client) => {
                let body = serde_json::to_string(new).unwrap_or_default();
                let added: AddedKey = client.change(Method::POST, "console/api/keys", body).await?;
                Ok(Secret::new(added.key))
            }
            Place::Store { store, config } => {
                let known = KnownNames {
                    is_configured: &|name| config.keys.iter().any(|key| *key.name == *name),
                    has_toolset: &|name| config.toolsets.iter().any(|set| set.name == name),
                };
                new.check(&known).map_err(|what| Failure::refused(anyhow::anyhow!(what)))?;
                let taken = || {
                    Failure::refused(anyhow::anyhow!("there is already a key `{}`", new.name))
                        .hint("choose another name, or revoke that key first: `toolmux keys revoke`")
                };
                new.add(&**store, "").await?.ok_or_else(taken)
            }
        }
    }

    async fn list(&self) -> Result<Vec<Value>, Failure> {
        match self {
            Place::Server(client) => {
                client.get("console/api/keys", &[]).await.map(|listed: ListedKeys| listed.keys)
            }
            Place::Store { store, .. } => {
                let keys = store.key_list().await.map_err(failed)?;
                Ok(keys.iter().map(key_as_json).collect())
            }
        }
    }

    async fn revoke(&self, name: &str) -> Result<(), Failure> {
        let unknown = || {
            Failure::refused(anyhow::anyhow!("there is no key `{name}` in the store"))
                .hint("`toolmux keys list` shows them; remove a key of the configuration from its file")
        };
        match self {
            Place::Server(client) => {
                let path = format!("console/api/keys/{name}");
                client.change::<Value>(Method::DELETE, &path, String::new()).await.map(drop)
            }
            Place::Store { store, .. } => {
                if revoke_key(&**store, "", name).await? {
                    Ok(())
                } else {
                    Err(unknown())
                }
            }
        }
    }
}

fn table(keys: &[Value]) -> Table<5> {
    let mut table = Table::new(["NAME", "OPENS", "CREATED", "LAST USE", "REVOKED"]);
    for key in keys {
        let text = |member: &str| key[member].as_str().unwrap_or_default().to_owned();
        let opens = match (key["operator"] == true, key["toolset"].as_str()) {
            (true, _) => "everything, operator".to_owned(),
            (false, Some(toolset)) => format!("toolset {toolset}"),
            (false, None) => "every tool".to_owned(),
        };
        table.row([&text("name"), &opens, &text("created"), &text("used"), &text("revoked")]);
    }
    table
}
