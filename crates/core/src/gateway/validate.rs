//! Arguments against schema: the step that turns a request into a call.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{Gateway, Located};
use crate::call::{Call, Caller, NestedCalls, NestedPath, Request};
use crate::catalog::Entry;
use crate::coercion::coerced;
use crate::delivery::{Filled, fill};
use crate::message::Message;
use crate::refusal::Refusal;

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
    request: Request,
) -> Result<Call, Refusal> {
    let (request, filled) = if request.arguments.text().get().len() <= INLINE_BYTES {
        checked(&entry, request)?
    } else {
        // Rare, so it is kept out of the future of every call.
        let places = Arc::clone(&gateway.large_validations);
        Box::pin(checked_aside(places, Arc::clone(&entry), request)).await?
    };
    let nested = NestedCalls { path: Arc::clone(gateway) as Arc<dyn NestedPath>, depth };
    Ok(Call { entry, request, caller: caller.clone(), nested, in_flight, task: None, filled })
}

async fn checked_aside(
    places: Arc<Semaphore>,
    entry: Arc<Entry>,
    request: Request,
) -> Result<(Request, Option<Filled>), Refusal> {
    let failed = || Refusal::Internal(Message::public("The arguments could not be validated"));
    let place = places.acquire_owned().await.map_err(|_| failed())?;
    let work = move || {
        // Held until the work ends, even when nobody waits for it any more.
        let _place = place;
        checked(&entry, request)
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(failed()))
}

fn checked(entry: &Entry, mut request: Request) -> Result<(Request, Option<Filled>), Refusal> {
    if entry.mount.coerces
        && let Some(arguments) = coerced(&request.arguments, entry.tool.input.value())
    {
        request.arguments = arguments;
    }
    let arguments = &request.arguments;
    let parameters = entry.validator.faults(arguments.value(), arguments.text().get().len());
    if !parameters.is_empty() {
        return Err(Refusal::Invalid { parameters });
    }
    let filled = fill(&entry.deliver, &request.arguments, &request.grants);
    request.arguments.free_value();
    Ok((request, filled))
}
