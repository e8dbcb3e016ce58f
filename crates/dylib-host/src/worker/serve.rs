//! The loop of a worker: one call at a time, answered before the next one starts. So the oldest call
//! without an answer is the only one that can have been running when a worker dies.

use super::channel::{Answers, Broken, Requests};
use super::crash;
use super::ending::Ending;
use crate::call::Library;
use crate::fault::CallFault;
use crate::frame::RequestFrame;
use crate::sandbox::forget_denials;

/// Serves until there is a reason to end.
pub(super) fn serve(
    mut library: Library,
    requests: &mut Requests,
    answers: &mut Answers,
) -> Result<Ending, Broken> {
    while let Some(request) = requests.next()? {
        let (id, function, values) = match request {
            RequestFrame::Call { id, function, values } => (id, function, values),
            RequestFrame::Stop => return Ok(Ending::Stopped),
            RequestFrame::Hello { .. } => return Err(Broken::Order),
        };
        crash::set_call(id);
        // Before the call, not after it: a thread that an earlier call left running may be refused something at any time.
        forget_denials();
        let fault = answers.call(&mut library, (id, function, values))?;
        if fault.is_some_and(CallFault::ends_worker) {
            // Calls that wait in the pipe must not meet a library in this state: they are sent again to
            // the next worker.
            return Ok(Ending::Unfit);
        }
        crash::set_call(0);
    }
    Ok(Ending::Stopped)
}
