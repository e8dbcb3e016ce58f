//! One operation of a document as a tool, and as the request that a call of it sends.

use std::sync::Arc;

use http::HeaderMap;
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Returns, Tool};
use toolmux_core::version::Version;

use super::arguments::{ArgumentNames, ArgumentsWriter};
use super::document::{ApiDocument, text_of, texts_of};
use super::path_items::FoundOperation;
use super::responses::AnswerSchemas;
use super::schema_writer::{Direction, SchemaWriter};
use super::security::{self, Carried};
use super::servers::ServerRules;
use super::{body, parameters};
use crate::http_request::{
    FileAccess, Operation, OperationParameter, OutputCheck, RequestBody, ResponseForm, ResponseRule,
    hints_of, path_pieces,
};

/// The longest description, in characters: a model reads those of all tools.
const MOST_DESCRIPTION: usize = 4_000;

/// What the configuration says about how a document is read.
pub(super) struct ReadingRules {
    pub(super) servers: ServerRules,
    /// Patterns over ids and tags of operations; absent: all.
    pub(super) include: Option<Vec<String>>,
    /// What every request says.
    pub(super) headers: Arc<HeaderMap>,
    pub(super) output: OutputCheck,
    pub(super) files: FileAccess,
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
        let carried = Carried { headers: &self.rules.headers, url: self.rules.servers.url.as_ref() };
        let security = security::of_operation(self.document, found, carried)?;
        let address = self.rules.servers.of_operation(self.document, found)?;

        let mut writer = SchemaWriter::new(self.document, Direction::Request);
        let mut names = ArgumentNames::default();
        let mut read = parameters::read(self.document, found, &declared, &mut writer, &mut names)?;
        // What the configuration sends in a header is not for a model to say.
        read.retain(|parameter| !is_sent(&parameter.wire, &self.rules.headers));
        let arguments = ArgumentsWriter { document: self.document, writer, names, files: &self.rules.files };
        let arguments = arguments.write(&read, body.as_ref());

        let returns = self.answers.returns(self.document, found);
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
            reach: address.reach,
            path: path_pieces(&rooted(found.path), &wire)?,
            parameters: wire,
            body: request_body,
            headers: Arc::clone(&self.rules.headers),
            credentials: security.credentials,
            response: ResponseRule { form: ResponseForm::Body, check: self.rules.output, schema },
        };
        let mut tool = Tool::new(name, description(found), Schema::new(arguments.schema));
        (tool.version, tool.returns, tool.requires) = (self.version, returns, security.requires);
        tool.hints = hints_of(&found.method);
        Ok((tool, operation))
    }
}

fn is_sent(wire: &OperationParameter, headers: &HeaderMap) -> bool {
    wire.place == crate::http_request::ParameterPlace::Header && headers.contains_key(&wire.name)
}

fn rooted(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
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
