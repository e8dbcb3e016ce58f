//! One tool: its settings as an operation, with the schema of its arguments.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Map, Value, json};
use toolmux_core::nearest::nearest;
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Hints, Returns, Tool};
use toolmux_http::network_zone::Reach;
use url::Url;

use super::graphql;
use super::parameter::{self, Described};
use super::request_line::RequestLine;
use super::settings::{BodySetting, HttpTool};
use crate::http_request::{
    BodyMedia, BodySource, FileAccess, Operation, OutputCheck, PropertyEncoding, PropertyForm, RequestBody,
    ResponseForm, ResponseRule, hints_of, path_names, path_pieces,
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
        reach: Reach::Anywhere,
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

#[derive(Default)]
struct Parts {
    properties: Map<String, Value>,
    required: Vec<String>,
    parameters: Vec<crate::http_request::OperationParameter>,
    /// Parameters of the body: the argument, its name there, and whether it is a file.
    in_body: Vec<(String, String, bool)>,
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
            None => self.in_body.push((name.to_owned(), described.body_name, described.is_file)),
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
        if let Some((name, _, _)) = self.in_body.iter().find(|(name, _, _)| !known.contains(&name.as_str())) {
            let what = format!("parameter `{name}` is no variable of `graphql`");
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
                self.in_body.push((name.clone(), name, false));
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
    let renamed = parts.in_body.iter().filter(|(argument, name, _)| argument != name);
    let renamed = renamed.map(|(argument, name, _)| (argument.clone(), name.clone())).collect();
    let files = parts.in_body.iter().filter(|(_, _, is_file)| *is_file);
    let encodings: Vec<(String, PropertyEncoding)> = files
        .map(|(_, name, _)| (name.clone(), PropertyEncoding { form: PropertyForm::File, content_type: None }))
        .collect();
    let has_files = !encodings.is_empty();
    let one = || match parts.in_body.as_slice() {
        [(argument, _, _)] => Ok(BodySource::Argument(argument.clone())),
        _ => Err("`body` is text or bytes, and so only one parameter can be in it; give the others an `in`"),
    };
    Ok(Some(match tool.body {
        BodySetting::Json | BodySetting::Form | BodySetting::Text if has_files => {
            return Err(
                "a parameter with `type = \"file\"` needs `body = \"multipart\"` or `body = \"bytes\"`"
                    .into(),
            );
        }
        BodySetting::Json => {
            request_body(BodySource::Remaining(renamed), BodyMedia::Json, "application/json")
        }
        BodySetting::Form => {
            let media = BodyMedia::Form(Vec::new());
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

fn request_body(source: BodySource, media: BodyMedia, content_type: &'static str) -> RequestBody {
    RequestBody { source, media, content_type: HeaderValue::from_static(content_type) }
}
