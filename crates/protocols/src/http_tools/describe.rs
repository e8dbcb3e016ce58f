//! One tool: its settings as an operation, with the schema of its arguments.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Map, Value, json};
use toolmux_core::nearest::nearest;
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Hints, Returns, Tool};
use url::Url;

use super::graphql;
use super::parameter::{self, Described};
use super::request_line::RequestLine;
use super::settings::{BodySetting, HttpTool};
use crate::http_request::{
    BodyMedia, BodySource, FileAccess, NamedBy, Operation, OutputCheck, PropertyEncoding, PropertyForm,
    RequestBody, ResponseForm, ResponseRule, hints_of, path_names, path_pieces,
};

/// What all tools of a source share.
pub(super) struct Shared<'a> {
    pub(super) base: &'a Url,
    pub(super) check: OutputCheck,
    pub(super) files: &'a FileAccess,
}

/// A tool and its operation. Says what is wrong, naming keys and no values.
pub(super) fn describe(
    name: &str,
    tool: &HttpTool,
    headers: Arc<HeaderMap>,
    shared: &Shared<'_>,
) -> Result<(Tool, Operation), String> {
    let default = tool.graphql.as_ref().map(|_| "POST");
    let line = tool.request.as_deref().or(default).ok_or("needs `request` or `graphql`")?;
    let line = RequestLine::read(line).map_err(|what| format!("`request` {what}"))?;
    check_braces(tool, &line)?;
    let mut parts = Parts::default();
    for (name, setting) in &tool.parameters {
        let described = parameter::describe(name, setting, &line, shared.files);
        parts.add(name, described.map_err(|what| format!("parameter `{name}` {what}"))?);
    }
    let hints = match &tool.graphql {
        Some(query) => parts.graphql(query, tool, &line)?,
        None => hints_of(&line.method),
    };
    let body = body(tool, &parts)?;
    let path = path_pieces(line.path, &parts.parameters)?;
    let returns = tool.returns.clone().map(|schema| Schema::new(Value::Object(schema)));
    let form = if tool.graphql.is_some() { ResponseForm::GraphQl } else { ResponseForm::Body };
    let mut described = Tool::new(name, tool.description.as_str(), parts.schema());
    described.returns = returns.clone().map_or(Returns::Anything, Returns::Matching);
    described.hints = hints.overridden_by(Hints { read_only: tool.read_only, ..Hints::default() });
    let operation = Operation {
        method: line.method,
        base: shared.base.clone(),
        named_by: NamedBy::Configuration,
        path,
        parameters: parts.parameters,
        body,
        headers,
        credentials: Vec::new(),
        response: ResponseRule { form, check: shared.check, schema: returns },
    };
    Ok((described, operation))
}

/// Every name in braces is a parameter.
fn check_braces(tool: &HttpTool, line: &RequestLine<'_>) -> Result<(), String> {
    let names = || tool.parameters.iter().map(|(name, setting)| setting.name.as_deref().unwrap_or(name));
    let Some(unknown) = path_names(line.path).find(|wanted| !names().any(|known| known == *wanted)) else {
        return Ok(());
    };
    let what = "`request` has a name in braces that is not in `parameters`";
    Err(match nearest(unknown, tool.parameters.keys().map(String::as_str)) {
        Some(near) => format!("{what}; did you mean `{{{near}}}`?"),
        None => format!("{what}; add `parameters.NAME = {{ type = \"string\" }}` for it"),
    })
}

/// A parameter of the body: the argument, its name there, and how it is written in a form.
struct BodyParameter {
    argument: String,
    name: String,
    form: PropertyForm,
}

#[derive(Default)]
struct Parts {
    properties: Map<String, Value>,
    required: Vec<String>,
    parameters: Vec<crate::http_request::OperationParameter>,
    in_body: Vec<BodyParameter>,
}

impl Parts {
    fn add(&mut self, name: &str, described: Described) {
        if let Some(schema) = described.schema {
            self.properties.insert(name.to_owned(), schema);
            if described.is_required {
                self.required.push(name.to_owned());
            }
        }
        match described.parameter {
            Some(parameter) => self.parameters.push(parameter),
            None => {
                let Described { body_name, form, .. } = described;
                self.in_body.push(BodyParameter { argument: name.to_owned(), name: body_name, form });
            }
        }
    }

    /// Adds the variables of a GraphQL operation that the configuration does not describe itself.
    fn graphql(&mut self, query: &str, tool: &HttpTool, line: &RequestLine<'_>) -> Result<Hints, String> {
        if line.method != Method::POST {
            return Err("`request` of a GraphQL operation must be a `POST`".into());
        }
        if tool.body != BodySetting::Json {
            return Err("`body` is always JSON for a GraphQL operation".into());
        }
        let operation = graphql::read(query).map_err(|what| format!("`graphql` {what}"))?;
        let known: Vec<&str> = operation.variables.iter().map(|variable| variable.name.as_str()).collect();
        let unknown = self.in_body.iter().find(|parameter| !known.contains(&parameter.argument.as_str()));
        if let Some(BodyParameter { argument: name, .. }) = unknown {
            let what = format!("parameter `{name}` is not a variable of `graphql`");
            return Err(match nearest(name, known.iter().copied()) {
                Some(near) => format!("{what}; did you mean `{near}`?"),
                None => what,
            });
        }
        let read_only = operation.is_query;
        let (properties, required) = graphql::properties(operation.variables);
        for (name, schema) in properties {
            if !self.properties.contains_key(&name) {
                self.properties.insert(name.clone(), schema);
                self.required.extend(required.contains(&name).then(|| name.clone()));
                self.in_body.push(BodyParameter { argument: name.clone(), name, form: PropertyForm::Plain });
            }
        }
        let method = if read_only { Method::GET } else { Method::POST };
        Ok(hints_of(&method))
    }

    fn schema(&mut self) -> Schema {
        let (properties, required) =
            (std::mem::take(&mut self.properties), std::mem::take(&mut self.required));
        Schema::new(json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false
        }))
    }
}

fn body(tool: &HttpTool, parts: &Parts) -> Result<Option<RequestBody>, String> {
    if let Some(query) = &tool.graphql {
        let media = BodyMedia::GraphQl { query: query.clone() };
        return Ok(Some(request_body(BodySource::Remaining(Vec::new()), media, "application/json")));
    }
    if parts.in_body.is_empty() {
        return Ok(None);
    }
    check_forms(tool.body, &parts.in_body)?;
    let renamed = parts.in_body.iter().filter(|parameter| parameter.argument != parameter.name);
    let renamed = renamed.map(|parameter| (parameter.argument.clone(), parameter.name.clone())).collect();
    let encodings = parts.in_body.iter().map(|BodyParameter { name, form, .. }| {
        (name.clone(), PropertyEncoding { form: *form, content_type: None })
    });
    let encodings: Vec<(String, PropertyEncoding)> = encodings.collect();
    let one = || match parts.in_body.as_slice() {
        [BodyParameter { argument, .. }] => Ok(BodySource::Argument(argument.clone())),
        _ => Err("`body` is text or bytes, and so only one parameter can be in it; give the others an `in`"),
    };
    Ok(Some(match tool.body {
        BodySetting::Json => {
            request_body(BodySource::Remaining(renamed), BodyMedia::Json, "application/json")
        }
        BodySetting::Form => {
            let media = BodyMedia::Form(encodings);
            request_body(BodySource::Remaining(renamed), media, "application/x-www-form-urlencoded")
        }
        BodySetting::Multipart => request_body(
            BodySource::Remaining(renamed),
            BodyMedia::Multipart(encodings),
            "multipart/form-data",
        ),
        BodySetting::Text => request_body(one()?, BodyMedia::Text, "text/plain; charset=utf-8"),
        BodySetting::Bytes => request_body(one()?, BodyMedia::Bytes, "application/octet-stream"),
    }))
}

/// Files and styles have a meaning in some bodies only.
fn check_forms(body: BodySetting, parameters: &[BodyParameter]) -> Result<(), String> {
    let has_fields = matches!(body, BodySetting::Form | BodySetting::Multipart);
    let takes_files = matches!(body, BodySetting::Multipart | BodySetting::Bytes);
    for BodyParameter { argument, form, .. } in parameters {
        let (what, needed) = match form {
            PropertyForm::File if !takes_files => ("`type = \"file\"`, which", "bytes"),
            PropertyForm::Styled { .. } | PropertyForm::Json if !has_fields => {
                ("a `style`, which in a body", "form")
            }
            PropertyForm::Plain
            | PropertyForm::Text
            | PropertyForm::File
            | PropertyForm::Styled { .. }
            | PropertyForm::Json => {
                continue;
            }
        };
        return Err(format!(
            "parameter `{argument}` has {what} needs `body = \"multipart\"` or `body = \"{needed}\"`"
        ));
    }
    Ok(())
}

fn request_body(source: BodySource, media: BodyMedia, content_type: &'static str) -> RequestBody {
    RequestBody { source, media, content_type: HeaderValue::from_static(content_type) }
}
