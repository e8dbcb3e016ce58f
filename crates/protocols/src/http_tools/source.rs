//! The requests of a configuration as a source. Its list is made when it is opened and never changes.

use std::sync::Arc;

use http::HeaderMap;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::figures::SourceFigures;
use toolmux_core::ports::source::{FailureScope, Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_http::client::{HttpLimits, web_address};

use super::describe::{Shared, describe};
use super::settings::HttpSettings;
use crate::http_request::{FileAccess, OperationSet};
use crate::registry::{Detection, OpenError, Opening, SourceKind};

pub(crate) const SOURCE: SourceKind = SourceKind {
    kind: "http",
    settings: || schemars::schema_for!(HttpSettings),
    open,
    asks_for_tokens: |_| false,
    detection: Detection::NONE,
};

struct HttpTools {
    listing: Listing,
    operations: OperationSet,
}

fn open(opening: &Opening<'_>) -> Result<Arc<dyn Source>, OpenError> {
    let settings: HttpSettings = opening.settings()?;
    let base = web_address(&settings.url).ok_or_else(|| {
        OpenError::new("`url` is not the address of an HTTP server")
            .hint("url = \"https://api.example.com/v1\"")
    })?;
    let files = FileAccess::new(settings.files.as_ref(), opening.folder)
        .map_err(|_| OpenError::new("`files.folders` has a folder that does not exist"))?;
    let headers = Arc::new(opening.headers(&settings.headers)?);
    let limits = HttpLimits { body_bytes: settings.max_answer, ..HttpLimits::default() };
    let tls = opening.tls(settings.tls.as_ref())?;
    let operations = OperationSet::new(limits, files, tls.as_ref());
    let shared = Shared { base: &base, check: settings.output, files: operations.files() };
    let (mut tools, mut described) = (Vec::new(), Vec::new());
    for (name, tool) in &settings.tools {
        let fault = |what: String| OpenError::new(format!("tool `{name}`: {what}"));
        let own = with_own(&headers, opening.headers(&tool.headers)?);
        let (tool, operation) = describe(name, tool, own, &shared).map_err(fault)?;
        described.push((Arc::clone(&tool.name), operation));
        tools.push(tool);
    }
    if let Some((name, what)) = operations.replace(described).into_iter().next() {
        return Err(OpenError::new(format!("tool `{name}`: {what}")));
    }
    Ok(Arc::new(HttpTools { listing: tools.into(), operations }))
}

/// The headers of the source, or those of one tool over them.
fn with_own(shared: &Arc<HeaderMap>, own: HeaderMap) -> Arc<HeaderMap> {
    if own.is_empty() {
        return Arc::clone(shared);
    }
    let mut headers = (**shared).clone();
    headers.extend(own);
    Arc::new(headers)
}

impl Source for HttpTools {
    fn figures(&self) -> SourceFigures {
        SourceFigures::of_connections(self.operations.connections())
    }

    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(std::future::ready(Ok(self.listing.clone())))
    }

    fn call<'a>(&'a self, call: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(self.operations.call(call))
    }

    /// Requests of one table may be answered by many programs: one that fails says nothing of the others.
    fn failure_scope(&self) -> FailureScope {
        FailureScope::Tool
    }
}
