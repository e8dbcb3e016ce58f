//! What requests look like, byte by byte, and what no argument can make of them.

mod attacks;
mod exact;
mod read_back;

use std::sync::Arc;

use http::Method;
use serde_json::Value;
use serde_json::value::RawValue;
use toolmux_http::client::{HttpClient, HttpLimits};

use super::PreparedOperation;
use crate::http_request::argument_text::ObjectMembers;
use crate::http_request::operation::{NamedBy, Operation, OperationParameter, ParameterPlace, ResponseRule};
use crate::http_request::path_template::path_pieces;

/// A request as it would be sent: its address, and the value of a header.
#[derive(Debug, PartialEq)]
struct Sent {
    address: String,
    header: Option<String>,
}

/// An operation with one parameter at its place: `/a/{p}/b`, the query, the header `x-p` or a cookie.
fn operation(parameter: OperationParameter) -> Operation {
    let template = if parameter.place == ParameterPlace::Path { "/a/{p}/b" } else { "/a" };
    Operation {
        method: Method::GET,
        base: "http://h/".parse().unwrap(),
        named_by: NamedBy::Configuration,
        path: path_pieces(template, std::slice::from_ref(&parameter)).unwrap(),
        parameters: vec![parameter],
        body: None,
        headers: Arc::default(),
        credentials: Vec::new(),
        response: ResponseRule::default(),
    }
}

/// A parameter for the argument `p`, by the name that [`operation`] knows.
fn parameter(place: ParameterPlace) -> OperationParameter {
    let name = if place == ParameterPlace::Header { "x-p" } else { "p" };
    OperationParameter { argument: "p".to_owned(), ..OperationParameter::new(name, place) }
}

/// What is sent for the argument `p`, or why nothing is.
fn sent(parameter: OperationParameter, value: &Value) -> Result<Sent, String> {
    let header = if parameter.place == ParameterPlace::Cookie { "cookie" } else { "x-p" };
    let arguments = serde_json::json!({ "p": value }).to_string();
    let arguments: &RawValue = serde_json::from_str(&arguments).unwrap();
    let members = ObjectMembers::of(arguments);
    let client = HttpClient::new(HttpLimits::default());
    let prepared = PreparedOperation::new(operation(parameter), &client)?;
    let address = prepared.address(&members, &[]).map_err(|fault| fault.message.into_owned())?;
    // Every address is one that can be sent.
    prepared.target(&members, &[]).map_err(|fault| fault.message.into_owned())?;
    let headers = prepared.headers(&members).map_err(|fault| fault.message.into_owned())?;
    let header = headers.get(header).map(|value| value.to_str().unwrap().to_owned());
    Ok(Sent { address: String::from_utf8(address).unwrap(), header })
}
