//! An operation made ready when its tool is listed: names checked and encoded, so that a call only writes its arguments.

use std::borrow::Cow;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::value::RawValue;
use toolmux_core::json_text::RawJson;
use toolmux_core::ports::source::SourceError;
use toolmux_core::refusal::{ParameterError, Refusal};
use toolmux_http::client::{HttpClient, Target};
use url::Url;

use super::argument_text::ObjectMembers;
use super::body::PreparedBody;
use super::escape::{Escape, Unsendable, check_segments, leaves_segment};
use super::operation::{
    NamedBy, Operation, OperationCredential, OperationParameter, ParameterPlace, PathPiece,
};
use super::output::OutputRule;
use super::style::WireStyle;

/// Headers that say how a message is sent, and to whom: no argument may choose them.
const NOT_FOR_ARGUMENTS: [HeaderName; 12] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_ENCODING,
    header::TRANSFER_ENCODING,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    header::EXPECT,
    header::COOKIE,
    header::PROXY_AUTHORIZATION,
    header::PROXY_AUTHENTICATE,
];

/// An operation, ready to be called.
#[derive(Debug)]
pub(super) struct PreparedOperation {
    pub(super) method: Method,
    pub(super) named_by: NamedBy,
    /// The base, which relative addresses of answers are resolved against.
    pub(super) base: Url,
    /// The base with the headers of every request.
    target: Target,
    path: Vec<PreparedPiece>,
    /// What stands in every query, with its `?`.
    fixed_query: String,
    query: Vec<PreparedParameter>,
    headers: Vec<(HeaderName, PreparedParameter)>,
    cookies: Vec<PreparedParameter>,
    pub(super) body: Option<PreparedBody>,
    pub(super) credentials: Vec<OperationCredential>,
    pub(super) output: OutputRule,
}

#[derive(Debug)]
enum PreparedPiece {
    Literal(String),
    Parameter(PreparedParameter),
}

#[derive(Clone, Debug)]
struct PreparedParameter {
    argument: String,
    style: WireStyle,
    fixed: Option<RawJson>,
}

impl PreparedParameter {
    fn new(parameter: &OperationParameter) -> Result<Self, String> {
        let not_json = |_| format!("the fixed value of `{}` is not JSON", parameter.argument);
        let fixed = parameter.fixed.clone().map(RawValue::from_string).transpose().map_err(not_json)?;
        Ok(PreparedParameter { argument: parameter.argument.clone(), style: WireStyle::of(parameter), fixed })
    }

    /// Appends the value among the arguments, or the fixed one; `false` when there is none.
    fn write(
        &self,
        members: &ObjectMembers<'_>,
        lead: &str,
        out: &mut Vec<u8>,
    ) -> Result<bool, ArgumentFault> {
        let Some(value) = self.fixed.as_deref().or_else(|| members.get(&self.argument)) else {
            return Ok(false);
        };
        self.style.write(value, lead, out).map_err(|message| ArgumentFault::new(&self.argument, message))
    }
}

/// An argument that cannot be sent.
#[derive(Debug)]
pub(super) struct ArgumentFault {
    argument: String,
    message: Unsendable,
}

impl ArgumentFault {
    pub(super) fn new(argument: &str, message: impl Into<Unsendable>) -> Self {
        ArgumentFault { argument: argument.to_owned(), message: message.into() }
    }
}

impl From<ArgumentFault> for SourceError {
    fn from(fault: ArgumentFault) -> Self {
        let parameter = ParameterError { parameter: fault.argument, message: fault.message.into_owned() };
        SourceError::Refused(Refusal::Invalid { parameters: vec![parameter] })
    }
}

impl PreparedOperation {
    /// Says what is wrong with an operation that cannot be called.
    pub(super) fn new(operation: Operation, client: &HttpClient) -> Result<Self, String> {
        let in_place = |place: ParameterPlace| {
            let there = operation.parameters.iter().filter(move |parameter| parameter.place == place);
            there.map(PreparedParameter::new).collect::<Result<Vec<_>, _>>()
        };
        let (path, fixed_query) = path(&operation)?;
        let unfit = |_| "the base of the address cannot be called".to_owned();
        let target = client.target(&operation.base, (*operation.headers).clone()).map_err(unfit)?;
        Ok(PreparedOperation {
            path,
            fixed_query,
            query: in_place(ParameterPlace::Query)?,
            headers: headers(&operation)?,
            cookies: in_place(ParameterPlace::Cookie)?,
            body: operation.body.map(|body| PreparedBody::new(body, &operation.parameters)),
            method: operation.method,
            named_by: operation.named_by,
            base: operation.base,
            target,
            credentials: operation.credentials,
            output: OutputRule::new(operation.response),
        })
    }

    /// Where the request goes, with these pairs at the end of its query.
    pub(super) fn target(
        &self,
        members: &ObjectMembers<'_>,
        credentials: &[(&str, Cow<'_, str>)],
    ) -> Result<Target, ArgumentFault> {
        let address = PathAndQuery::from_maybe_shared(Bytes::from(self.address(members, credentials)?));
        let too_long = |_| ArgumentFault::new("", "make an address that is too long to be called");
        Ok(self.target.at(address.map_err(too_long)?))
    }

    fn address(
        &self,
        members: &ObjectMembers<'_>,
        credentials: &[(&str, Cow<'_, str>)],
    ) -> Result<Vec<u8>, ArgumentFault> {
        let mut out = Vec::with_capacity(128);
        self.write_path(members, &mut out)?;
        out.extend_from_slice(self.fixed_query.as_bytes());
        let mut lead = if self.fixed_query.is_empty() { "?" } else { "&" };
        for parameter in &self.query {
            if parameter.write(members, lead, &mut out)? {
                lead = "&";
            }
        }
        for (name, secret) in credentials {
            out.extend_from_slice(lead.as_bytes());
            Escape::Unreserved.push(name, &mut out);
            out.push(b'=');
            Escape::Unreserved.push(secret, &mut out);
            lead = "&";
        }
        Ok(out)
    }

    fn write_path(&self, members: &ObjectMembers<'_>, out: &mut Vec<u8>) -> Result<(), ArgumentFault> {
        let mut last = None;
        for piece in &self.path {
            match piece {
                PreparedPiece::Literal(text) => out.extend_from_slice(text.as_bytes()),
                PreparedPiece::Parameter(parameter) => {
                    let begin = out.len();
                    parameter.write(members, "", out)?;
                    if out.len() == begin {
                        let what =
                            "must be there and must not be empty: it is a part of the path of an address";
                        return Err(ArgumentFault::new(&parameter.argument, what));
                    }
                    last = Some(parameter);
                }
            }
        }
        // An argument alone is looked at when it is written; together with others, or with what its style puts before it,
        // it could still make `..`.
        match last {
            Some(parameter) => {
                check_segments(out).map_err(|message| ArgumentFault::new(&parameter.argument, message))
            }
            None => Ok(()),
        }
    }

    /// What the head of the request says, cookies included, without credentials of the call.
    pub(super) fn headers(&self, members: &ObjectMembers<'_>) -> Result<HeaderMap, ArgumentFault> {
        let mut headers = self.target.headers.clone();
        for (name, parameter) in &self.headers {
            let mut text = Vec::new();
            if parameter.write(members, "", &mut text)? {
                let unfit = |_| ArgumentFault::new(&parameter.argument, "cannot be sent in a header");
                headers.insert(name.clone(), HeaderValue::from_bytes(&text).map_err(unfit)?);
            }
        }
        if !self.cookies.is_empty() {
            let mut text = Vec::new();
            for parameter in &self.cookies {
                let lead = if text.is_empty() { "" } else { "; " };
                parameter.write(members, lead, &mut text)?;
            }
            add_cookie(&mut headers, &text);
        }
        Ok(headers)
    }
}

/// Adds to the one `cookie` header that a request has.
pub(super) fn add_cookie(headers: &mut HeaderMap, pairs: &[u8]) {
    if pairs.is_empty() {
        return;
    }
    let known = headers.get(header::COOKIE).map(HeaderValue::as_bytes).unwrap_or_default();
    let text = if known.is_empty() { pairs.to_vec() } else { [known, b"; ", pairs].concat() };
    if let Ok(mut value) = HeaderValue::from_bytes(&text) {
        value.set_sensitive(true);
        headers.insert(header::COOKIE, value);
    }
}

/// The pieces of the path, that of the base included, and what stands in every query.
fn path(operation: &Operation) -> Result<(Vec<PreparedPiece>, String), String> {
    // Without a path of its own a request goes to the base as it is written: some servers tell `/a` from `/a/`.
    let base = match operation.path.first() {
        None => operation.base.path(),
        Some(_) => operation.base.path().trim_end_matches('/'),
    };
    let mut literal = base.to_owned();
    let mut query: Vec<String> = operation.base.query().map(str::to_owned).into_iter().collect();
    let (mut pieces, mut in_query) = (Vec::new(), false);
    for piece in &operation.path {
        match piece {
            PathPiece::Literal(text) if in_query => query.push(encoded_literal(text)),
            PathPiece::Literal(text) => {
                let (before, after) =
                    text.split_once('?').map_or((&**text, None), |(path, rest)| (path, Some(rest)));
                literal.push_str(&encoded_literal(before));
                query.extend(after.map(encoded_literal));
                in_query = after.is_some();
            }
            PathPiece::Parameter(_) if in_query => {
                return Err(
                    "the path has a parameter in its query; describe it as a parameter of the query".into()
                );
            }
            PathPiece::Parameter(index) => {
                let parameter = operation.parameters.get(*index).ok_or("the path names no parameter")?;
                pieces.push(PreparedPiece::Literal(std::mem::take(&mut literal)));
                pieces.push(PreparedPiece::Parameter(PreparedParameter::new(parameter)?));
            }
        }
    }
    if pieces.is_empty() {
        check_fixed(&mut literal)?;
    }
    pieces.push(PreparedPiece::Literal(literal));
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    Ok((pieces, query))
}

/// A path without arguments, which is not looked at again.
fn check_fixed(path: &mut String) -> Result<(), String> {
    if path.is_empty() {
        path.push('/');
    }
    if leaves_segment(path.as_bytes()) { Err("the path has a segment `.` or `..`".into()) } else { Ok(()) }
}

/// What a template says, with whatever cannot stand in an address encoded. Escapes stay as they are.
fn encoded_literal(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    for character in text.chars() {
        let mut bytes = [0; 4];
        let one = character.encode_utf8(&mut bytes);
        if character.is_ascii_graphic()
            && !matches!(character, '"' | '<' | '>' | '#' | '\\' | '^' | '`' | '{' | '|' | '}')
        {
            out.extend_from_slice(one.as_bytes());
        } else {
            Escape::Unreserved.push(one, &mut out);
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// What configuration sets is not for arguments to change.
fn headers(operation: &Operation) -> Result<Vec<(HeaderName, PreparedParameter)>, String> {
    let mut headers = Vec::new();
    for parameter in operation.parameters.iter().filter(|known| known.place == ParameterPlace::Header) {
        let name = HeaderName::try_from(parameter.name.as_str()).map_err(|_| {
            format!("the parameter `{}` does not have the name of a header", parameter.argument)
        })?;
        if NOT_FOR_ARGUMENTS.contains(&name) {
            return Err(format!("`{name}` is a header that an argument must not choose"));
        }
        if !operation.headers.contains_key(&name) {
            headers.push((name, PreparedParameter::new(parameter)?));
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests;
