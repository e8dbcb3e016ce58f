//! One operation of a document as a tool, and as the request that a call of it sends.

use std::sync::Arc;

use http::HeaderMap;
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Returns, Tool};
use toolmux_core::version::Version;
use url::Url;

use super::arguments::{ArgumentNames, ArgumentsWriter, ReadArguments};
use super::body::ReadBody;
use super::document::{ApiDocument, shown, text_of, texts_of};
use super::path_items::FoundOperation;
use super::request_path::RequestPath;
use super::responses::{AnswerForm, AnswerSchemas};
use super::schema_writer::{Direction, SchemaWriter};
use super::security::{self, Carried, OperationSecurity};
use super::servers::{ApiAddress, ServerRules};
use super::toolmux_operation::toolmux_operation;
use super::{body, parameters};
use crate::http_request::{
    FileAccess, NamedBy, Operation, OperationParameter, OutputCheck, RequestBody, ResponseForm, ResponseRule,
    hints_of, path_pieces,
};

/// The longest description, in characters: a model reads those of all tools.
const MOST_DESCRIPTION: usize = 4_000;

/// What the configuration says about how a document is read.
pub(super) struct ReadingRules {
    pub(super) servers: ServerRules,
    /// Patterns over ids and tags of operations; absent: all.
    pub(super) include: Option<Vec<String>>,
    pub(super) headers: ApiHeaders,
    pub(super) output: OutputCheck,
    pub(super) files: FileAccess,
}

/// What requests say beyond their arguments.
#[derive(Default)]
pub(super) struct ApiHeaders {
    /// To a server that the configuration names.
    pub(super) configured: Arc<HeaderMap>,
    /// To one that only the document names: nothing that may be a secret.
    pub(super) plain: Arc<HeaderMap>,
    /// The configuration has `headers`.
    pub(super) are_configured: bool,
}

/// Makes tools of the operations of one document.
pub(super) struct ToolReader<'a, 'd> {
    pub(super) document: &'d ApiDocument,
    pub(super) rules: &'a ReadingRules,
    pub(super) version: Version,
    pub(super) answers: AnswerSchemas,
}

impl<'d> ToolReader<'_, 'd> {
    /// An operation under the name of its tool; the error says why it cannot be called.
    pub(super) fn read(
        &mut self,
        found: &FoundOperation<'d>,
        name: &str,
    ) -> Result<(Tool, Operation), String> {
        let declared = parameters::declared(self.document, found)?;
        let body = body::read(self.document, found, &declared)?;
        let address = self.rules.servers.of_operation(self.document, found)?;
        let (headers, security) = self.credentials(found, &address)?;

        let mut writer = SchemaWriter::new(self.document, Direction::Request);
        let mut names = ArgumentNames::default();
        let mut read = parameters::read(self.document, found, &declared, &mut writer, &mut names)?;
        // What the configuration sends in a header is not for a model to say.
        read.retain(|parameter| !is_sent(&parameter.wire, &headers));
        let own = toolmux_operation(found.operation);
        let form = own.map_or(AnswerForm::OfDocument, |_| AnswerForm::OfToolmux);
        let arguments = ArgumentsWriter { document: self.document, writer, names, files: &self.rules.files };
        let unchanged = own.filter(|_| read.is_empty()).and_then(|_| self.unchanged(found, body.as_ref()?));
        let arguments = unchanged.unwrap_or_else(|| arguments.write(&read, body.as_ref()));

        let returns = self.answers.returns(self.document, found, form);
        let schema = match &returns {
            Returns::Matching(schema) => Some(schema.clone()),
            Returns::Nothing | Returns::Anything => None,
        };
        let wire: Vec<OperationParameter> = read.into_iter().map(|parameter| parameter.wire).collect();
        let request_body = body.zip(arguments.body).map(|(body, source)| RequestBody {
            source,
            media: body.media,
            content_type: body.content_type,
        });
        let operation = Operation {
            method: found.method.clone(),
            base: address.base,
            named_by: address.named_by,
            path: path_pieces(&RequestPath::of(found.path).template, &wire)?,
            parameters: wire,
            body: request_body,
            headers,
            credentials: security.credentials,
            response: ResponseRule { form: ResponseForm::Body, check: self.rules.output, schema },
        };
        let mut tool = self.tool(found, name, Schema::new(arguments.schema));
        (tool.returns, tool.requires) = (returns, security.requires);
        Ok((tool, operation))
    }

    /// The tool without what it returns and requires. A tool of another toolmux keeps its description, version and hints.
    fn tool(&self, found: &FoundOperation<'d>, name: &str, arguments: Schema) -> Tool {
        let own = toolmux_operation(found.operation);
        let description = match own {
            Some(_) => text_of(found.operation, "description").unwrap_or_default().to_owned(),
            None => description(found),
        };
        let mut tool = Tool::new(name, description, arguments);
        (tool.version, tool.hints) = (self.version, hints_of(&found.method));
        if let Some(own) = own {
            (tool.version, tool.hints) = (own.version, own.hints);
        }
        tool
    }

    /// The arguments of a tool of another toolmux.
    fn unchanged(&self, found: &FoundOperation<'d>, body: &ReadBody<'d>) -> Option<ReadArguments> {
        let prefix = format!("{}.input.", text_of(found.operation, "operationId")?);
        let writer = SchemaWriter::unchanged(self.document, prefix);
        let (names, files) = (ArgumentNames::default(), &self.rules.files);
        ArgumentsWriter { document: self.document, writer, names, files }.write_unchanged(body)
    }

    /// The headers and credentials of a request. A server that only the document names gets neither; an operation there that
    /// needs them is not served.
    fn credentials(
        &self,
        found: &FoundOperation<'d>,
        address: &ApiAddress,
    ) -> Result<(Arc<HeaderMap>, OperationSecurity), String> {
        let headers = &self.rules.headers;
        let of_operation =
            |headers, url| security::of_operation(self.document, found, Carried { headers, url });
        match address.named_by {
            NamedBy::Configuration => {
                let security = of_operation(&headers.configured, self.rules.servers.url.as_ref())?;
                Ok((Arc::clone(&headers.configured), security))
            }
            NamedBy::Document(_) if headers.are_configured => {
                Err(format!("`headers` are {}", not_sent(&address.base)))
            }
            NamedBy::Document(_) => match of_operation(&headers.plain, None)?.requires {
                requires if requires.can_be_empty() => {
                    Ok((Arc::clone(&headers.plain), OperationSecurity::default()))
                }
                requires => {
                    Err(format!("it needs {}; that is {}", requires.in_words(), not_sent(&address.base)))
                }
            },
        }
    }
}

fn not_sent(base: &Url) -> String {
    let server = shown(&base.origin().ascii_serialization());
    let url = shown(base.as_str());
    format!("not sent to `{server}`, which only the document names; add `url = \"{url}\"` to the source")
}

fn is_sent(wire: &OperationParameter, headers: &HeaderMap) -> bool {
    wire.place == crate::http_request::ParameterPlace::Header && headers.contains_key(&wire.name)
}

/// Summary, description and tags; the request itself where there are none.
fn description(found: &FoundOperation<'_>) -> String {
    let summary = text_of(found.operation, "summary").or_else(|| text_of(found.item, "summary"));
    let long = text_of(found.operation, "description").or_else(|| text_of(found.item, "description"));
    let mut parts = Vec::new();
    if found.operation.get("deprecated") == Some(&serde_json::Value::Bool(true)) {
        parts.push("Deprecated.".to_owned());
    }
    parts.extend(
        summary.filter(|summary| !long.is_some_and(|long| long.starts_with(summary))).map(str::to_owned),
    );
    parts.extend(long.map(str::to_owned));
    if summary.is_none() && long.is_none() {
        parts.push(format!("{} {}", found.method, found.path));
    }
    let tags = texts_of(found.operation, "tags");
    if !tags.is_empty() {
        parts.push(format!("Tags: {}", tags.join(", ")));
    }
    let whole = parts.join("\n\n");
    match whole.char_indices().nth(MOST_DESCRIPTION) {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    }
}
