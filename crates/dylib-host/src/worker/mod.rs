//! The child process: one library, one call at a time, told what to do over a pipe.

mod channel;
mod crash;
mod descriptors;
mod ending;
mod hang_up;
mod serve;

use std::convert::Infallible;
use std::io::{self, Write};

use crate::call::Library;
use crate::error_chain;
use crate::hello::{Abi, Enforced, Hello, Ready};
use crate::load::{LibraryError, locate};
use crate::sandbox::{
    addresses, answer_traps, restrict_calls, restrict_calls_of_loading, restrict_files, restrict_resources,
};
use channel::{Answers, Broken, Requests};
use descriptors::Descriptors;
use ending::{Ending, end, leave};

/// The argument that makes the server's own executable a worker.
pub const ARGUMENT: &str = "dyn-worker";

/// Turns this process into a worker. The server starts its own executable for this, with the request
/// pipe as standard input and the answer pipe as standard output. Call it first in `main`.
pub fn run() -> ! {
    let Err(broken) = work();
    complain(&broken);
    leave(Ending::Broken)
}

fn work() -> Result<Infallible, Broken> {
    let descriptors = descriptors::take_over().map_err(Broken::Pipe)?;
    let mut requests = Requests::new(descriptors.requests);
    let mut answers = Answers::new(descriptors.answers);
    let Some((id, hello)) = requests.hello()? else { leave(Ending::Stopped) };
    match prepare(&hello, descriptors) {
        Ok((library, ready)) => {
            answers.ready(id, &ready)?;
            let ending = serve::serve(library, &mut requests, &mut answers).unwrap_or_else(|broken| {
                complain(&broken);
                Ending::Broken
            });
            end(ending)
        }
        Err(error) => {
            answers.load_failed(id, &error_chain(&error))?;
            leave(Ending::Unfit)
        }
    }
}

fn complain(broken: &Broken) {
    let _ = writeln!(io::stderr(), "dyn-worker: {broken}");
}

/// The order matters: no code of the library runs before landlock, the rlimits and the filter for loading, and none but
/// the loading before the last filter. The handler of trapped calls comes before the filters that trap. The rlimits come before the filters, which forbid to set them.
fn prepare(hello: &Hello, descriptors: Descriptors) -> Result<(Library, Ready), LibraryError> {
    let plan = &hello.plan;
    let path = locate(&plan.library)?;
    // While `/proc` can be read.
    let own = addresses();
    // Landlock holds for this thread and those that it starts: the one that watches the pipe comes after it.
    let files = restrict_files(&hello.sandbox, &path)?;
    hang_up::watch(descriptors.requests).map_err(LibraryError::Worker)?;
    restrict_resources(&plan.limits, own)?;
    answer_traps(hello.sandbox.profile, crash::on_signal)?;
    restrict_calls_of_loading(hello.sandbox.profile)?;
    let library = Library::open_file(&path, plan)?;
    // After the loading: a constructor may have replaced the handlers.
    crash::report_to(descriptors.answers, library.ranges()).map_err(LibraryError::Worker)?;
    let system_calls = restrict_calls(hello.sandbox.profile)?;
    let enforced = Enforced { files, system_calls };
    let ready = Ready { functions: library.readiness(), abi: Abi::HOST, enforced };
    Ok((library, ready))
}
