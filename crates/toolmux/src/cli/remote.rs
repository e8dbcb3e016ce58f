//! A running server as the command line uses it: its address, the key that opens it, and tasks over there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::timeout;
use toolmux_core::outcome::Outcome;
use toolmux_core::refusal::Refusal;
use toolmux_core::secret::Secret;
use toolmux_http::client::{ClientTls, HttpLimits, TlsMaterial};
use toolmux_protocols::ats::{AtsClient, AtsError, TaskSummary};
use toolmux_protocols::oxp::{OxpClient, OxpError};
use toolmux_protocols::registry::SecretSetting;

use super::failure::Failure;
use super::progress;
use super::terminal::{Terminal, note};
use crate::config::{near_file, read_secret};

/// Where a key is looked for by default.
pub(super) const KEY_ENV: &str = "TOOLMUX_KEY";
/// What to do about a server that asks who we are.
pub(super) const KEY_HINT: &str = "give the key of the server: export TOOLMUX_KEY, or --key-file FILE";
/// What to do about a server whose certificate is not accepted.
const CA_HINT: &str = "name the authority of its certificate: --ca FILE";
/// How long a server gets to take note that nobody wants a task any more.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// How long the events of a task may come.
const LONGEST_TASK: Duration = Duration::from_hours(24);

/// The key of a running server. It is never an argument, since everybody on a machine can read those.
#[derive(clap::Args)]
pub(super) struct KeyOptions {
    /// The environment variable that holds the key of that server [default: TOOLMUX_KEY].
    #[arg(long, value_name = "NAME", requires = "url", global = true)]
    key_env: Option<String>,
    /// The file that holds the key of that server.
    #[arg(long, value_name = "FILE", requires = "url", conflicts_with = "key_env", global = true)]
    key_file: Option<PathBuf>,
    /// A PEM file of the authorities that the certificate of that server is verified by [default: those of the
    /// system].
    #[arg(long, value_name = "FILE", requires = "url")]
    ca: Option<PathBuf>,
}

impl KeyOptions {
    /// What was named must be there; the usual variable need not be.
    pub(super) fn key(&self) -> Result<Option<Secret>, Failure> {
        let setting = match (&self.key_file, &self.key_env) {
            (Some(file), _) => SecretSetting::File { file: file.display().to_string() },
            (None, Some(env)) => SecretSetting::Env { env: env.clone() },
            (None, None) if std::env::var_os(KEY_ENV).is_none() => return Ok(None),
            (None, None) => SecretSetting::Env { env: KEY_ENV.to_owned() },
        };
        read_secret(&setting, Path::new("")).map(Some).map_err(|what| {
            // Unlike a configuration, a command line names no secret, so what it names can be shown.
            let what = match &setting {
                SecretSetting::Env { env } if std::env::var_os(env).is_none() => {
                    format!("environment variable `{env}` is not set")
                }
                SecretSetting::File { file } => format!("`{file}`: {what}"),
                SecretSetting::Env { .. } | SecretSetting::Text(_) => what,
            };
            Failure::refused(anyhow::anyhow!("the key of the server: {what}"))
                .meaning(self.key_file.as_deref().and_then(near_file))
        })
    }
}

/// A running server.
pub(super) struct Remote {
    pub(super) oxp: OxpClient,
    ats: AtsClient,
}

impl Remote {
    pub(super) fn new(url: &str, key: &KeyOptions) -> Result<Self, Failure> {
        check_address(url)?;
        let patient = HttpLimits { timeout: LONGEST_TASK, ..HttpLimits::default() };
        let mut oxp = OxpClient::new(url).map_err(unasked)?.on_wait(tell_wait);
        let mut ats = AtsClient::new(url).map_err(not_followed)?.limits(patient);
        if let Some(ca) = &key.ca {
            let tls = trusting(ca)?;
            (oxp, ats) = (oxp.tls(Some(tls.clone())), ats.tls(Some(tls)));
        }
        if let Some(key) = key.key()? {
            oxp = oxp.key(&key).map_err(unasked)?;
            ats = ats.key(&key).map_err(not_followed)?;
        }
        Ok(Remote { oxp, ats })
    }

    /// Starts a call in the background and gives the id of the task; nothing where a server has no tasks.
    pub(super) async fn submit(
        &self,
        tool: &str,
        arguments: &serde_json::value::RawValue,
    ) -> Result<Option<String>, Failure> {
        match self.ats.call(tool, arguments, None).await {
            Ok(task) => Ok(Some(task)),
            // The tool is known to be there, so it is the route that is not.
            Err(AtsError::Refused { status, .. }) if matches!(status.as_u16(), 404 | 405 | 501) => Ok(None),
            Err(error) => Err(not_followed(error)),
        }
    }

    /// Follows a task to its end. On a terminal its progress is shown live. Dropping the future
    /// leaves the task alone.
    pub(super) async fn follow(&self, task: &str, terminal: &Terminal) -> Result<Outcome, Failure> {
        let mut followed = self.ats.follow(task);
        loop {
            let document = followed.next().await.inspect_err(|_| terminal.clear()).map_err(not_followed)?;
            match &document.update {
                Some(update) if terminal.is_live() => progress::show(update, terminal),
                Some(_) => {}
                None => terminal.show(&document.status),
            }
            if let Some(outcome) = document.outcome() {
                terminal.clear();
                return Ok(outcome);
            }
        }
    }

    /// A page of the tasks over there, and what to name for the next page.
    pub(super) async fn tasks(
        &self,
        before: Option<&str>,
    ) -> Result<(Vec<TaskSummary>, Option<String>), Failure> {
        self.ats.tasks(before).await.map_err(not_followed)
    }

    /// A task as it is now.
    pub(super) async fn task(&self, task: &str) -> Result<TaskSummary, Failure> {
        self.ats.task(task).await.map_err(not_followed)
    }

    /// Cancels a task; one that has ended stays as it is.
    pub(super) async fn cancel_task(&self, task: &str) -> Result<(), Failure> {
        self.ats.cancel(task).await.map(drop).map_err(not_followed)
    }

    /// Cancels a task that nobody waits for any more; a server that is gone has ended it or will go on.
    pub(super) async fn cancel(&self, task: &str) {
        timeout(GRACE, self.ats.cancel(task)).await.ok();
    }
}

/// TLS that trusts the authorities of a file alone.
pub(super) fn trusting(ca: &Path) -> Result<ClientTls, Failure> {
    let name = ca.display();
    let unread =
        |error| Failure::refused(anyhow::anyhow!("cannot read `{name}`: {error}")).meaning(near_file(ca));
    let authorities = Some(std::fs::read(ca).map_err(unread)?);
    ClientTls::new(TlsMaterial { authorities, identity: None })
        .map_err(|error| Failure::refused(anyhow::anyhow!("`{name}` cannot be used: {error}")))
}

/// An address has a scheme.
pub(super) fn check_address(url: &str) -> Result<(), Failure> {
    if url.contains("://") {
        return Ok(());
    }
    let failure = Failure::refused(anyhow::anyhow!("`{url}` is not the address of a server"));
    Err(failure.meaning(Some(format!("http://{url}"))))
}

/// Says that a call is tried again, and why not at once.
fn tell_wait(why: &str, pause: Duration) {
    note(&format!("{why}; trying again in {:.1} s", pause.as_secs_f64()));
}

/// Why a server was not asked, or gave no outcome.
pub(super) fn unasked(error: OxpError) -> Failure {
    match error {
        OxpError::Refused(refusal @ Refusal::Unauthenticated(_)) => Failure::from(refusal).hint(KEY_HINT),
        OxpError::Refused(refusal) => refusal.into(),
        OxpError::Http(error) if error.tls_fault().is_some() => Failure::refused(error).hint(CA_HINT),
        other => {
            Failure::refused(other).hint("is a toolmux or OXP server running there, and is its key right?")
        }
    }
}

fn not_followed(error: AtsError) -> Failure {
    match error {
        AtsError::Refused { status, detail, .. } if status.as_u16() == 401 => {
            Failure::refused(anyhow::anyhow!(detail)).hint(KEY_HINT)
        }
        AtsError::Refused { detail, .. } => Failure::refused(anyhow::anyhow!(detail)),
        AtsError::Http(error) if error.tls_fault().is_some() => Failure::refused(error).hint(CA_HINT),
        AtsError::NoSuchTask(_) => Failure::refused(error)
            .hint("is it the same server and the same key? A finished task is kept for `limits.task_ttl` (5 minutes)"),
        AtsError::Address(_) | AtsError::Key | AtsError::Http(_) | AtsError::NotAts(_) => {
            Failure::refused(error).hint("is a toolmux or ATS server running there, and is its key right?")
        }
    }
}
