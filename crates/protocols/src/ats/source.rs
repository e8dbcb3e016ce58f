//! An ATS server as a source: a call is a task over there, followed to its end.

use std::sync::Arc;

use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::message::Message;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::figures::SourceFigures;
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::refusal::{Challenge, ParameterError, Refusal};
use toolmux_core::schema::Schema;
use toolmux_core::tool::Tool;
use toolmux_http::client::StatusAnswer;

use super::client::{AtsClient, AtsError};
use super::wire::RefusalDocument;
use crate::registry::{AddressHook, AddressTables, Detection, OpenError, Opening, SecretSetting, SourceKind};
use crate::tls::TlsSetting;

pub(crate) const SOURCE: SourceKind = SourceKind {
    kind: "ats",
    settings: || schemars::schema_for!(AtsSettings),
    open,
    asks_for_tokens: |_| false,
    detection: Detection {
        address: Some(AddressHook {
            what: "an ATS server",
            tables: |url| AddressTables::of_base(url, "/get_tool"),
        }),
        ..Detection::NONE
    },
};

/// An ATS server.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AtsSettings {
    /// The base URL; `/get_tool`, `/call_tool` and the others are appended.
    url: String,
    /// The key for the server.
    key: Option<SecretSetting>,
    /// The agent whose tools are used. Default: all tools.
    agent: Option<String>,
    /// TLS for an https `url`: `{ ca = "ca.pem" }` for a private authority, `{ cert = "client.pem", key = {
    /// file = "client.key" } }` for a client certificate. Read again when a file changes.
    tls: Option<TlsSetting>,
}

/// Statuses that say of themselves that a call was not executed. The page of ATS has none; what HTTP itself says of
/// missing credentials remains: the request "has not been applied" (RFC 9110, 15.5.2). The public server and ours add
/// those of `not_started`, always with a `detail`: they answer a call before they begin its task.
const NOT_EXECUTED: [StatusCode; 1] = [StatusCode::UNAUTHORIZED];

struct AtsSource {
    name: String,
    client: AtsClient,
    agent: Option<String>,
    background: TaskTracker,
}

fn open(opening: &Opening<'_>) -> Result<Arc<dyn Source>, OpenError> {
    let settings: AtsSettings = opening.settings()?;
    // What the client says of an address quotes it, and an address may hold a password.
    let mut client = AtsClient::new(&settings.url).map_err(|_| {
        OpenError::new("its `url` cannot be used").hint("write url = \"http://127.0.0.1:8848\" or the like")
    })?;
    client = client.tls(opening.tls(settings.tls.as_ref())?);
    if let Some(key) = opening.secret(settings.key.as_ref())? {
        client =
            client.key(&key).map_err(|error| OpenError::new(format!("its `key` cannot be used: {error}")))?;
    }
    let (name, agent) = (opening.name.to_owned(), settings.agent);
    Ok(Arc::new(AtsSource { name, client, agent, background: TaskTracker::new() }))
}

impl Source for AtsSource {
    fn figures(&self) -> SourceFigures {
        SourceFigures::of_connections(self.client.connections())
    }

    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async {
            let listed = self.client.tools(self.agent.as_deref()).await;
            let listed = listed.map_err(|error| self.not_run(error))?;
            let tools = listed.into_iter().map(|tool| {
                let schema = Schema::new(tool.input_schema.into_owned());
                Tool::new(&*tool.name, tool.description, schema)
            });
            Ok(tools.collect::<Vec<_>>().into())
        })
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(self.run(call, progress))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.background.close();
            self.background.wait().await;
        })
    }
}

impl AtsSource {
    /// Dropping the future cancels the task over there.
    async fn run(&self, call: &Call, progress: &Progress) -> Result<Outcome, SourceError> {
        let task = self.start(call).await?;
        let mut running = Running { source: self, task: Some(task.clone()) };
        let mut followed = self.client.follow(&task);
        loop {
            let document = followed.next().await.map_err(|error| self.lost(&error))?;
            if let Some(update) = document.update.clone() {
                progress.send(update).await;
            }
            if let Some(outcome) = document.outcome() {
                running.task = None;
                return Ok(outcome);
            }
        }
    }

    /// Who leaves while the task is being accepted would leave it without anybody who knows its id.
    async fn start(&self, call: &Call) -> Result<String, SourceError> {
        let (client, (tell, told)) = (self.client.clone(), oneshot::channel());
        let (tool, arguments) = (call.tool_name().to_owned(), call.arguments().text().to_owned());
        self.background.spawn(async move {
            let started = client.call(&tool, &arguments, None).await;
            if let Err(Ok(task)) = tell.send(started) {
                cancel(&client, &task).await;
            }
        });
        let lost = |_| SourceError::Lost(Message::public(format!("Source `{}` was closed", self.name)));
        told.await.map_err(lost)?.map_err(|error| self.not_started(call, error))
    }

    /// What it says when a task was to begin: that it did not, and why; or nothing that tells us.
    fn not_started(&self, call: &Call, error: AtsError) -> SourceError {
        let AtsError::Refused { status, detail, document, .. } = &error else {
            return match error {
                AtsError::NotAts(_) => self.lost(&error),
                other => self.not_run(other),
            };
        };
        // A status alone may come from a gateway, or from a server that failed half-way.
        if document.detail.is_null() {
            return self.not_run(error);
        }
        let refusal = match *status {
            StatusCode::UNPROCESSABLE_ENTITY => {
                let mut parameters = document.faults();
                if parameters.is_empty() {
                    parameters.push(ParameterError { parameter: String::new(), message: detail.clone() });
                }
                Refusal::Invalid { parameters }
            }
            StatusCode::NOT_FOUND => Refusal::UnknownTool {
                tool: call.tool_name().to_owned(),
                nearest: None,
                developer: Some(format!("source `{}`: {detail}", self.name)),
            },
            StatusCode::CONFLICT => Refusal::Conflict { call_id: call.id().unwrap_or_default().to_owned() },
            StatusCode::BAD_REQUEST if !document.authorization.is_empty() => challenged(document),
            StatusCode::BAD_REQUEST => Refusal::Malformed(Message::public(detail.clone())),
            _ => return self.not_run(error),
        };
        SourceError::Refused(refusal)
    }

    /// What a refusal says of a call, or of a list, that nothing more is known of.
    fn not_run(&self, error: AtsError) -> SourceError {
        let told = |public: String| Message::public(public).caused_by(&error);
        let unavailable =
            |message, retry_after| SourceError::Refused(Refusal::Unavailable { message, retry_after });
        match error {
            AtsError::Http(error) => error.into(),
            // In the words of the protocol this says that no task was begun; in those of a gateway it says nothing.
            AtsError::Refused {
                status: StatusCode::SERVICE_UNAVAILABLE,
                ref document,
                ref detail,
                retry_after,
            } if !document.detail.is_null() => match retry_after {
                Some(_) => unavailable(told(detail.clone()), retry_after),
                None => SourceError::NotReached(told(detail.clone())),
            },
            AtsError::Refused { status: StatusCode::TOO_MANY_REQUESTS, ref detail, retry_after, .. } => {
                let status = StatusCode::TOO_MANY_REQUESTS;
                StatusAnswer { status, retry_after }.error(&NOT_EXECUTED, told(detail.clone()))
            }
            AtsError::Refused { status, ref detail, retry_after, .. } => {
                let public = format!("Source `{}` did not take the call: {detail}", self.name);
                StatusAnswer { status, retry_after }.error(&NOT_EXECUTED, told(public))
            }
            AtsError::Address(_) | AtsError::Key | AtsError::NoSuchTask(_) | AtsError::NotAts(_) => {
                unavailable(told(format!("Source `{}` does not answer as an ATS server", self.name)), None)
            }
        }
    }

    fn lost(&self, error: &AtsError) -> SourceError {
        let public = format!("Source `{}` lost the task", self.name);
        SourceError::Lost(Message::public(public).caused_by(error))
    }
}

fn challenged(document: &RefusalDocument) -> Refusal {
    let missing = document.authorization.iter().map(|token| Challenge {
        id: token.id.clone(),
        url: token.authorization_url.clone(),
        check_url: None,
    });
    Refusal::Challenged { authorization: missing.collect(), secrets: Vec::new(), user_id: false }
}

/// A task over there that is cancelled when nobody waits for it any more.
struct Running<'a> {
    source: &'a AtsSource,
    task: Option<String>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let (Some(task), Ok(runtime)) = (self.task.take(), tokio::runtime::Handle::try_current()) {
            let client = self.source.client.clone();
            self.source.background.spawn_on(async move { cancel(&client, &task).await }, &runtime);
        }
    }
}

async fn cancel(client: &AtsClient, task: &str) {
    if let Err(error) = client.cancel(task).await {
        tracing::debug!(%error, task, "a task could not be cancelled");
    }
}
