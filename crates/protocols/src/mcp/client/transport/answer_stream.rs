//! The answer to one request over streamable HTTP as a stream of events: what the server tells and asks on it, then the
//! answer itself.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::BoxFuture;
use toolmux_core::answer_memory::answer_takes;
use toolmux_core::json_text::{RawJson, raw_of};
use toolmux_core::message::Message as Text;
use toolmux_core::ports::source::Relayed;
use toolmux_http::client::Answer;
use toolmux_http::sse::{Decoder, Event};

use super::broken::Broken;
use super::follow::Following;
use super::http_sender::HttpSender;
use super::outgoing::reply;
use super::upstream_request::UpstreamRequest;
use crate::jsonrpc::{NotTheAnswer, RpcMessage, read_answer};
use crate::mcp::methods::PING;

/// Questions that the caller has not answered yet. They are answered while the stream is read: a server may tell and ask
/// more before it has the first answer.
type Questions<'a> = FuturesUnordered<BoxFuture<'a, (RawJson, Relayed)>>;

/// Reads events until the answer is among them. A stream that breaks before is resumed if the server can do that.
/// Dropping the future closes the stream.
pub(super) async fn follow(
    sender: &HttpSender,
    request: &UpstreamRequest<'_>,
    mut answer: Answer,
    following: &Following<'_>,
) -> Result<Relayed, Broken> {
    let lost = |text: &str| Text::public(text.to_owned());
    let mut decoder = Decoder::new(sender.most);
    let mut questions = Questions::new();
    loop {
        let piece = tokio::select! {
            piece = answer.piece() => piece,
            Some((id, answer)) = questions.next() => {
                sender.send(reply(&id, &answer), request.credentials).await;
                continue;
            }
        };
        let piece = match piece {
            Ok(Some(piece)) => piece,
            over => {
                let ended = || Broken::Lost(lost("The server closed the stream before it answered"));
                let broken = over.map_or_else(Broken::from, |_| ended());
                answer = sender.resume(&mut decoder, request.credentials).await.ok_or(broken)?;
                continue;
            }
        };
        let events = decoder
            .push(&piece)
            .map_err(|error| Broken::Lost(lost("The answer is too long").caused_by(&error)))?;
        answer_takes(decoder.held())
            .map_err(|error| Broken::Lost(lost("The answer was dropped").caused_by(&error)))?;
        for event in events {
            if let Some(answer) = take(&event, request.id, following, &mut questions).await? {
                return Ok(answer);
            }
        }
    }
}

/// Takes one event; gives the answer if that is what it is.
async fn take<'a>(
    event: &Event,
    request: u64,
    following: &'a Following<'_>,
    questions: &mut Questions<'a>,
) -> Result<Option<Relayed>, Broken> {
    match RpcMessage::read(event.data.as_bytes()) {
        Ok(RpcMessage::Notification { method, params }) => following.heard(&method, params).await,
        Ok(RpcMessage::Request { id, method, params }) => {
            let (id, method) = (id.to_owned(), method.into_owned());
            let params = params.map(ToOwned::to_owned);
            questions.push(Box::pin(async move {
                let answer = answer_question(following, &method, params.as_deref()).await;
                (id, answer)
            }));
        }
        Ok(RpcMessage::Answer { .. }) | Err(_) => {
            match read_answer(event.data.as_bytes(), |id| id.parse() == Ok(request)) {
                Ok(answer) => {
                    return Ok(Some(answer.map(ToOwned::to_owned).map_err(ToOwned::to_owned)));
                }
                Err(NotTheAnswer::Unreadable) => {}
                Err(foreign) => return Err(not_ours(&foreign)),
            }
        }
    }
    Ok(None)
}

/// Whoever answers another request than ours may have run ours too.
pub(super) fn not_ours(foreign: &NotTheAnswer) -> Broken {
    Broken::Lost(Text::public("The server answered another request than ours").caused_by(foreign))
}

/// The caller's answer to a question of the server.
pub(super) async fn answer_question(
    following: &Following<'_>,
    method: &str,
    params: Option<&RawValue>,
) -> Relayed {
    if method == PING { Ok(pong()) } else { following.asked(method, params).await }
}

/// The answer to `ping`.
pub(super) fn pong() -> RawJson {
    raw_of(&json!({}))
}
