//! Arguments against schema: the step that turns a request into a call.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{Gateway, Located};
use crate::call::{Call, Caller, NestedCalls, NestedPath, Request};
use crate::catalog::Entry;
use crate::coercion::coerced;
use crate::delivery::{Filled, delivered, with_fixed};
use crate::message::Message;
use crate::refusal::{ParameterError, Refusal};

/// Arguments with a longer text are validated on a thread of their own: the threads of the runtime serve everybody.
const INLINE_BYTES: usize = 16 << 10;

/// How many arguments of that kind are validated at a time; others wait. Half of the processors stay free for the
/// rest of the server.
pub(super) fn large_validations() -> Semaphore {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Semaphore::new((processors / 2).max(1))
}

/// Checks the arguments of a request. When the future is dropped, a validation that has begun on its own thread goes
/// on to its end, which is bounded, and keeps its place until then.
pub(super) async fn validate(
    gateway: &Arc<Gateway>,
    depth: u8,
    Located { entry, in_flight }: Located,
    caller: &Caller,
    mut request: Request,
) -> Result<Call, Refusal> {
    let filled = if request.arguments.text().get().len() <= INLINE_BYTES {
        checked(&entry, &mut request)?
    } else {
        // Rare, so it is kept out of the future of every call.
        let places = Arc::clone(&gateway.large_validations);
        let aside = checked_aside(places, Arc::clone(&entry), request);
        let filled;
        (request, filled) = Box::pin(aside).await?;
        filled
    };
    let nested = NestedCalls { path: Arc::clone(gateway) as Arc<dyn NestedPath>, depth };
    Ok(Call { entry, request, caller: caller.clone(), nested, in_flight, task: None, filled })
}

async fn checked_aside(
    places: Arc<Semaphore>,
    entry: Arc<Entry>,
    mut request: Request,
) -> Result<(Request, Option<Filled>), Refusal> {
    let failed = || Refusal::Internal(Message::public("The arguments could not be validated"));
    let place = places.acquire_owned().await.map_err(|_| failed())?;
    let work = move || {
        // Held until the work ends, even when nobody waits for it any more.
        let _place = place;
        let filled = checked(&entry, &mut request)?;
        Ok((request, filled))
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(failed()))
}

/// The arguments with what is delivered or fixed among them, when something is. The request is lent: it is large, and every
/// call would move it twice.
fn checked(entry: &Entry, request: &mut Request) -> Result<Option<Filled>, Refusal> {
    if entry.mount.coerces
        && let Some(arguments) = coerced(&request.arguments, entry.tool.input.value())
    {
        request.arguments = arguments;
    }
    if !entry.fixed.is_empty() {
        return checked_with_fixed(entry, request);
    }
    let arguments = &request.arguments;
    let parameters = entry.validator.faults(arguments.value(), arguments.text().get().len());
    if !parameters.is_empty() {
        return Err(Refusal::Invalid { parameters });
    }
    let filled = delivered(&entry.deliver, &request.arguments, &request.grants);
    request.arguments.free_value();
    Ok(filled)
}

/// The same for a tool some of whose arguments configuration fixes. They are no parameters to its callers; to the schema
/// that its source gave they are arguments like the others, and the request keeps what the caller sent, so that a task
/// that is read back and a call under the same id are the same as before.
fn checked_with_fixed(entry: &Entry, request: &mut Request) -> Result<Option<Filled>, Refusal> {
    let given = request.arguments.map();
    let unknown = |name: &String| ParameterError {
        parameter: name.clone(),
        message: "is not a known parameter".to_owned(),
    };
    let sent: Vec<_> = entry.fixed.keys().filter(|name| given.contains_key(*name)).map(unknown).collect();
    if !sent.is_empty() {
        return Err(Refusal::Invalid { parameters: sent });
    }
    let whole = with_fixed(&entry.fixed, &request.arguments);
    let faults = entry.validator.faults(whole.value(), whole.text().get().len());
    let is_fixed = |fault: &ParameterError| {
        let name = fault.parameter.split(['.', '[']).next().unwrap_or_default();
        entry.fixed.contains_key(name)
    };
    let (of_fixed, parameters): (Vec<_>, Vec<_>) = faults.into_iter().partition(is_fixed);
    if let Some(fault) = of_fixed.first() {
        let words =
            "The configuration of the server fixes an argument of this tool to what the tool does not take";
        // What it says of the value stays out: configuration may keep a secret there.
        let detail =
            format!("the fixed argument `{}` of {} does not fit its schema", fault.parameter, entry.id);
        return Err(Refusal::Internal(Message::public(words).developer(detail)));
    }
    if !parameters.is_empty() {
        return Err(Refusal::Invalid { parameters });
    }
    let filled = delivered(&entry.deliver, &whole, &request.grants).unwrap_or(Filled(whole));
    request.arguments.free_value();
    Ok(Some(filled))
}
