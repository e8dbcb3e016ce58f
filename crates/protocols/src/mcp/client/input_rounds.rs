//! Requests that a server answers with questions: the caller is asked, and the request is sent again with the answers.

use futures_util::future::join_all;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolmux_core::json_text::{RawJson, raw_of};
use toolmux_core::ports::source::Relayed;

use crate::mcp::client::connect::connecting::Connecting;
use crate::mcp::client::decode;
use crate::mcp::client::exchange::{UpstreamCall, exchange};
use crate::mcp::client::transport::{Broken, Following, OutgoingParams};
use crate::mcp::wire::INTERNAL_ERROR;

/// How often a server may ask for more input within one request.
pub(in crate::mcp) const MOST_ROUNDS: usize = 16;

/// What a source is asked besides calls. A caller of the server's era answers questions in the same way, with a request
/// of its own; any other is asked.
pub(in crate::mcp) async fn relay(
    connecting: &Connecting,
    call: &UpstreamCall<'_>,
    params: &RawValue,
) -> Result<Relayed, Broken> {
    let mut params = OutgoingParams::by(Some(params));
    for _ in 0..MOST_ROUNDS {
        let answer = exchange(connecting, call, &params).await?;
        let result = answer.as_ref().ok().filter(|_| !params.is_modern());
        let Some((requests, state)) = result.and_then(|result| decode::asked(result)) else {
            return Ok(answer);
        };
        let Some(answers) = answers(&requests, call.following).await else { break };
        params.answer(&answers, state.as_deref());
    }
    Ok(Err(raw_of(
        &json!({ "code": INTERNAL_ERROR, "message": "The server asks for input that its caller cannot give" }),
    )))
}

/// Puts every question to the caller, all at a time; none when one of them cannot be answered.
pub(in crate::mcp) async fn answers(requests: &Value, following: &Following<'_>) -> Option<RawJson> {
    let asked = requests.as_object()?.iter().map(async |(key, request)| {
        let params = request.get("params").map(raw_of);
        let answer = following.asked(request["method"].as_str()?, params.as_deref()).await.ok()?;
        Some((key.clone(), serde_json::from_str(answer.get()).ok()?))
    });
    let answers: Option<Map<_, _>> = join_all(asked).await.into_iter().collect();
    answers.map(|answers| raw_of(&Value::Object(answers)))
}
