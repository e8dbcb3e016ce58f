//! The methods of a JSON-RPC server as a source.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::{ArcSwap, ArcSwapOption};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::message::Message;
use toolmux_core::outcome::{Outcome, Output};
use toolmux_core::ports::figures::{ConnectionCounters, SourceFigures};
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::tool::Returns;
use toolmux_http::client::{HttpClient, HttpLimits, credential_headers};

use super::client::{RpcCall, RpcServer, failure};
use super::detect::address_tables;
use super::load::{load, modified, not_listed, read_file};
use super::method::RpcMethod;
use super::params::{ParamStructure, params_text};
use super::server::{NOT_SENT, ServerAddress};
use super::settings::{DocumentPlace, OpenRpcSettings, RpcSettings};
use crate::http_request::{OutputRule, ResponseForm, ResponseRule};
use crate::registry::{AddressHook, Detection, OpenError, Opening, SourceKind};

/// How often the file of a document is looked at for changes.
const CHECK_EVERY: Duration = Duration::from_secs(5);

pub(crate) const SOURCE: SourceKind = SourceKind {
    kind: "openrpc",
    settings: || schemars::schema_for!(OpenRpcSettings),
    open,
    asks_for_tokens: |_| false,
    detection: Detection {
        address: Some(AddressHook { what: "a JSON-RPC server with OpenRPC", tables: address_tables }),
        ..Detection::NONE
    },
};

struct OpenRpcServer {
    settings: RpcSettings,
    methods: ArcSwap<HashMap<Arc<str>, Arc<PreparedMethod>>>,
    /// The file as it was when it was listed last.
    modified: ArcSwapOption<SystemTime>,
    /// Over all lists: each makes a client of its own.
    connections: Arc<ConnectionCounters>,
}

struct PreparedMethod {
    server: Arc<RpcServer>,
    structure: ParamStructure,
    params: Vec<String>,
    answers: bool,
    output: OutputRule,
    /// Only the document names the server: no credentials of calls are sent there.
    is_named: bool,
}

fn open(opening: &Opening<'_>) -> Result<Arc<dyn Source>, OpenError> {
    let settings = opening.settings::<OpenRpcSettings>()?.read(opening)?;
    if let DocumentPlace::File(file) = &settings.document {
        read_file(file).map_err(OpenError::new)?;
    }
    Ok(Arc::new(OpenRpcServer {
        settings,
        methods: ArcSwap::default(),
        modified: ArcSwapOption::empty(),
        connections: Arc::default(),
    }))
}

impl Source for OpenRpcServer {
    fn figures(&self) -> SourceFigures {
        SourceFigures::of_connections(self.connections.figures())
    }

    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(self.list())
    }

    fn call<'a>(&'a self, call: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(self.run(call))
    }

    /// A file can be looked at cheaply; for the rest the gateway lists anew from time to time.
    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let DocumentPlace::File(file) = &self.settings.document else {
                return std::future::pending().await;
            };
            loop {
                tokio::time::sleep(CHECK_EVERY).await;
                let listed = self.modified.load();
                if listed.as_deref().copied() != modified(file) {
                    return;
                }
            }
        })
    }
}

impl OpenRpcServer {
    async fn list(&self) -> Result<Listing, SourceError> {
        if let DocumentPlace::File(file) = &self.settings.document {
            self.modified.store(modified(file).map(Arc::new));
        }
        let document = load(&self.settings).await?;
        let address = ServerAddress::find(&self.settings, document.server.as_deref()).map_err(not_listed)?;
        let is_named = matches!(address, ServerAddress::Named(_));
        let server = Arc::new(self.server(&address)?);
        let tools = document.methods.iter().map(|method| method.tool.clone()).collect();
        let prepared = document.methods.into_iter().map(|method| {
            let name = Arc::clone(&method.tool.name);
            let prepared = self.prepared(method, Arc::clone(&server));
            (name, Arc::new(PreparedMethod { is_named, ..prepared }))
        });
        self.methods.store(Arc::new(prepared.collect()));
        Ok(Listing { tools, unusable: document.unusable })
    }

    fn server(&self, address: &ServerAddress) -> Result<RpcServer, SourceError> {
        let limits = HttpLimits { body_bytes: self.settings.max_answer, ..HttpLimits::default() };
        let (url, client) = match address {
            ServerAddress::Configured(url) => {
                (url, HttpClient::new(limits).with_tls(self.settings.tls.clone()))
            }
            ServerAddress::Named(url) => (url, HttpClient::reaching(self.settings.reach, limits)),
        };
        let client = client.counted_by(&self.connections);
        Ok(RpcServer::new(client, url, self.settings.headers.clone())?)
    }

    fn prepared(&self, method: RpcMethod, server: Arc<RpcServer>) -> PreparedMethod {
        let RpcMethod { tool, structure, params, answers } = method;
        let schema = match tool.returns {
            Returns::Matching(schema) => Some(schema),
            Returns::Anything | Returns::Nothing => None,
        };
        let rule = ResponseRule { form: ResponseForm::Body, check: self.settings.output, schema };
        PreparedMethod { server, structure, params, answers, output: OutputRule::new(rule), is_named: false }
    }

    /// Dropping the future closes the exchange.
    async fn run(&self, call: &Call) -> Result<Outcome, SourceError> {
        let name = call.tool_name();
        let method = self.methods.load().get(name).map(Arc::clone);
        let method = method.ok_or_else(|| {
            SourceError::NotReached(Message::public(format!("There is no method `{name}`")))
        })?;
        let params = params_text(method.structure, &method.params, call.arguments().text());
        let id = method.answers.then(|| method.server.next_id());
        let headers = credential_headers(call)?;
        if method.is_named && !headers.is_empty() {
            let words = format!("The credentials of `{name}` are {NOT_SENT}");
            return Err(SourceError::Refused(Refusal::Internal(Message::public(words))));
        }
        match method.server.call(RpcCall { method: name, params: &params, id, headers }).await? {
            Ok(value) => Ok(method.output.outcome(name, Output::value(value), Vec::new())),
            Err(error) => Ok(Outcome::Failed(failure(&error, &call.entry().flat)?)),
        }
    }
}
