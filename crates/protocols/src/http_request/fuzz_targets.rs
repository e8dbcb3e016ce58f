//! Invariants of requests, whatever their arguments: one more fuzz target beside the tables and the property of
//! `prepared/tests`.

use std::sync::{Arc, LazyLock};

use http::Method;
use serde_json::value::RawValue;
use toolmux_core::json_text::read_strict;
use toolmux_http::client::{HttpClient, HttpLimits};

use super::argument_text::ObjectMembers;
use super::escape::{decoded, leaves_segment};
use super::operation::{
    NamedBy, Operation, OperationParameter, ParameterPlace, ParameterStyle, ResponseRule,
};
use super::path_template::path_pieces;
use super::prepared::PreparedOperation;
use crate::fuzz_targets::{Target, examples};

pub(crate) const TARGETS: &[Target] = &[("http_request", argument_examples, request)];

/// An operation for each place and style, exploded and not, all of the argument `p`.
static OPERATIONS: LazyLock<Vec<PreparedOperation>> = LazyLock::new(|| {
    use ParameterStyle as Style;
    let places =
        [ParameterPlace::Path, ParameterPlace::Query, ParameterPlace::Header, ParameterPlace::Cookie];
    let styles = [
        Style::Simple,
        Style::Label,
        Style::Matrix,
        Style::Form,
        Style::SpaceDelimited,
        Style::PipeDelimited,
        Style::TabDelimited,
        Style::DeepObject,
        Style::Json,
    ];
    let client = HttpClient::new(HttpLimits::default());
    let each = places.into_iter().flat_map(|place| styles.map(|style| (place, style)));
    each.flat_map(|(place, style)| [true, false].map(|explode| operation(place, style, explode)))
        .map(|operation| PreparedOperation::new(operation, &client).expect("it can be called"))
        .collect()
});

fn operation(place: ParameterPlace, style: ParameterStyle, explode: bool) -> Operation {
    let parameter = OperationParameter { style, explode, ..OperationParameter::new("p", place) };
    let template = if place == ParameterPlace::Path { "/a/{p}/b" } else { "/a/x/b" };
    Operation {
        method: Method::GET,
        base: "http://h/".parse().expect("an address"),
        named_by: NamedBy::Configuration,
        path: path_pieces(template, std::slice::from_ref(&parameter)).expect("a template"),
        parameters: vec![parameter],
        body: None,
        headers: Arc::default(),
        credentials: Vec::new(),
        response: ResponseRule::default(),
    }
}

fn argument_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"{"p":"a/../b%2e%2e\r\n"}"#,
        r#"{"p":["a b","|",null,1e30,{"c":[true]}]}"#,
        r#"{"p":{"R":100,"G":{"x":[1,"\u0000"]},"é":"&=#"}}"#,
    ])
}

/// An address has three segments that stay what they are, at most one query and no fragment; a head has no line breaks.
fn request(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(arguments) = serde_json::from_str::<&RawValue>(text) else { return };
    if !read_strict(text).is_ok_and(|value| value.is_object()) {
        return;
    }
    let members = ObjectMembers::of(arguments);
    for operation in &*OPERATIONS {
        let Ok(target) = operation.target(&members, &[]) else { continue };
        let address = target.url(&operation.base);
        let path = address.path();
        assert!(address.host_str() == Some("h") && address.fragment().is_none(), "{address}");
        assert!(path.split('/').count() == 4 && path.starts_with("/a/") && path.ends_with("/b"), "{address}");
        let once = decoded(path.as_bytes()).unwrap_or_else(|| path.as_bytes().to_vec());
        assert!(!leaves_segment(&once), "{address}");
        if let Ok(headers) = operation.headers(&members) {
            let lines = headers.values().flat_map(|value| value.as_bytes().iter());
            assert!(lines.copied().all(|byte| matches!(byte, b'\t' | b' '..=b'~')), "{headers:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
