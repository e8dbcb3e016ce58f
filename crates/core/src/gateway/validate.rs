//! Arguments against schema: the step that turns a request into a call.

use std::sync::Arc;

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Onward;
use crate::call::{Call, Caller, Request};
use crate::catalog::Entry;
use crate::coercion::coerced;
use crate::delivery::fill;
use crate::refusal::Refusal;

pub(super) fn validate(
    entry: Arc<Entry>,
    caller: &Caller,
    mut request: Request,
    onward: Onward,
    in_flight: TaskTrackerToken,
) -> Result<Call, Refusal> {
    if entry.mount.coerces
        && let Some(arguments) = coerced(&request.arguments, entry.tool.input.value())
    {
        request.arguments = arguments;
    }
    let parameters = entry.validator.faults(request.arguments.value());
    if parameters.is_empty() {
        let filled = fill(&entry.deliver, &request.arguments, &request.grants);
        request.arguments.free_value();
        Ok(Call { entry, request, caller: caller.clone(), onward, in_flight, task: None, filled })
    } else {
        Err(Refusal::Invalid { parameters })
    }
}
