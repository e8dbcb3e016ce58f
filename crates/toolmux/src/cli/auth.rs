//! `toolmux auth`: whose tokens are kept, giving them back, and what providers have to know.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use toolmux_broker::{Base, OAuthBroker, Owner, redirect_uri};

use super::console_client::ConsoleClient;
use super::failure::Failure;
use super::remote::KeyOptions;
use super::table::Table;
use super::terminal::{Terminal, note, print_line};
use crate::assembly::store;
use crate::authorization;
use crate::config::Config;

/// Manage tokens of users, and list redirect URIs of providers.
///
/// Example: toolmux auth revoke github --user ann --config toolmux.toml
#[derive(clap::Args)]
pub(super) struct Auth {
    #[command(subcommand)]
    action: Action,
    /// The address of a running server, instead of the store of a configuration. Needs the key of an operator.
    #[arg(long, global = true)]
    url: Option<String>,
    #[command(flatten)]
    key: KeyOptions,
}

#[derive(Subcommand)]
enum Action {
    /// List whose tokens are stored. Tokens themselves are never shown.
    ///
    /// Example: toolmux auth list toolmux.toml
    List {
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
        /// The configuration whose store keeps them.
        #[arg(default_value = "toolmux.toml", value_name = "CONFIG")]
        config: PathBuf,
    },
    /// List the configured providers, and the redirect URI to register at each.
    ///
    /// Example: toolmux auth providers toolmux.toml
    Providers {
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
        /// The configuration with the provider.
        #[arg(default_value = "toolmux.toml", value_name = "CONFIG")]
        config: PathBuf,
    },
    /// Remove tokens from the store, and revoke them at their provider.
    ///
    /// Example: toolmux auth revoke github --user ann
    Revoke {
        /// The name of the provider.
        provider: String,
        /// Only those obtained through this caller.
        #[arg(long)]
        caller: Option<String>,
        /// Only those of this user.
        #[arg(long)]
        user: Option<String>,
        /// The configuration whose store keeps them.
        #[arg(long, default_value = "toolmux.toml")]
        config: PathBuf,
    },
}

impl Auth {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        let server = self.url.as_deref().map(|url| ConsoleClient::new(url, &self.key)).transpose()?;
        match self.action {
            Action::List { json, config } => {
                let owners = match &server {
                    Some(server) => served_owners(server).await?,
                    None => owners(&*broker(&config).await?).await?,
                };
                if json {
                    print_json(&owners);
                } else {
                    print_table(&owners, terminal);
                }
                Ok(ExitCode::SUCCESS)
            }
            Action::Providers { json, config } => {
                let providers = providers(&Config::load(&config)?);
                if json {
                    print_providers_json(&providers);
                } else {
                    print_providers(&providers, terminal);
                }
                Ok(ExitCode::SUCCESS)
            }
            Action::Revoke { provider, caller, user, config } => {
                let fits = |owner: &Owner| {
                    owner.provider == provider
                        && caller.as_ref().is_none_or(|caller| owner.caller == *caller)
                        && user.as_ref().is_none_or(|user| owner.user == *user)
                };
                match &server {
                    Some(server) => revoke_served(server, fits).await,
                    None => revoke(&*broker(&config).await?, fits).await,
                }
            }
        }
    }
}

/// Where browsers reach the server that the configuration is for.
fn public_url(config: &Config) -> String {
    config.public_url.clone().unwrap_or_else(|| format!("http://{}", config.listen))
}

/// The configured providers, each with its redirect URI.
fn providers(config: &Config) -> Vec<(String, String)> {
    let base = public_url(config);
    let configured = config.auth.iter().flat_map(|auth| &auth.providers);
    configured.map(|provider| (provider.name.clone(), redirect_uri(&base, &provider.name))).collect()
}

fn print_providers(providers: &[(String, String)], terminal: &Terminal) {
    let mut table = Table::new(["PROVIDER", "REDIRECT URI"]);
    for (name, uri) in providers {
        table.row([name, uri]);
    }
    table.print(terminal);
}

fn print_providers_json(providers: &[(String, String)]) {
    let one = |(name, uri): &(String, String)| json!({ "provider": name, "redirect_uri": uri });
    print_line(&format!("{:#}", providers.iter().map(one).collect::<Value>()));
}

async fn broker(config: &Path) -> Result<Arc<OAuthBroker>, Failure> {
    let config = Config::load(config)?;
    let store = store(&config.store, config.retention).await?;
    // Providers that servers name know us by our address.
    let base = Base::default();
    base.set(public_url(&config)).ok();
    authorization::broker(&config, &store, &base)?.ok_or_else(|| {
        Failure::refused(anyhow::anyhow!("no token provider is configured"))
            .hint("add an [auth.providers.NAME] table, or `authorization = {}` to an MCP source")
    })
}

#[derive(Deserialize)]
struct Consents {
    consents: Vec<KeptConsent>,
}

#[derive(Deserialize)]
struct KeptConsent {
    provider: String,
    caller: String,
    user: String,
}

/// Whose tokens a running server keeps.
async fn served_owners(server: &ConsoleClient) -> Result<Vec<Owner>, Failure> {
    let Consents { consents } = server.get("console/api/consents", &[]).await?;
    let owner = |KeptConsent { provider, caller, user }: KeptConsent| Owner { provider, caller, user };
    Ok(consents.into_iter().map(owner).collect())
}

async fn revoke_served(server: &ConsoleClient, fits: impl Fn(&Owner) -> bool) -> Result<ExitCode, Failure> {
    let mut revoked = 0;
    for Owner { provider, caller, user } in
        served_owners(server).await?.into_iter().filter(|owner| fits(owner))
    {
        let body = json!({ "provider": provider, "caller": caller, "user": user }).to_string();
        server.change::<Value>(Method::POST, "console/api/consents/revoke", body).await?;
        revoked += 1;
    }
    told_revoked(revoked)
}

fn told_revoked(revoked: usize) -> Result<ExitCode, Failure> {
    if revoked == 0 {
        return Err(Failure::refused(anyhow::anyhow!("no such token is stored"))
            .hint("toolmux auth list shows whose tokens are stored"));
    }
    println!("{revoked} revoked");
    Ok(ExitCode::SUCCESS)
}

async fn owners(broker: &OAuthBroker) -> Result<Vec<Owner>, Failure> {
    broker.owners().await.map_err(|error| Failure::refused(anyhow::anyhow!(error.message.public)))
}

fn print_table(owners: &[Owner], terminal: &Terminal) {
    let mut table = Table::new(["PROVIDER", "CALLER", "USER"]);
    for owner in owners {
        table.row([&owner.provider, &owner.caller, &owner.user]);
    }
    table.print(terminal);
}

fn print_json(owners: &[Owner]) {
    let one =
        |owner: &Owner| json!({ "provider": owner.provider, "caller": owner.caller, "user": owner.user });
    print_line(&format!("{:#}", owners.iter().map(one).collect::<Value>()));
}

async fn revoke(broker: &OAuthBroker, fits: impl Fn(&Owner) -> bool) -> Result<ExitCode, Failure> {
    let mut revoked = 0;
    for owner in owners(broker).await?.into_iter().filter(|owner| fits(owner)) {
        let told = broker.revoke(&owner).await;
        let (there, trouble) =
            told.map_err(|error| Failure::refused(anyhow::anyhow!(error.message.public)))?;
        revoked += usize::from(there);
        if let Some(message) = trouble {
            let why = message.developer.unwrap_or(message.public);
            note(&format!("removed here, but not revoked at `{}`: {why}", owner.provider));
        }
    }
    told_revoked(revoked)
}
