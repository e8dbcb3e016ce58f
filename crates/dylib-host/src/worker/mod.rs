//! The child process: one library, one call at a time, told what to do over a pipe.

mod channel;
mod crash;
mod descriptors;
mod hang_up;
mod serve;

use std::io::{self, Write};

use crate::call::Library;
use crate::hello::{Abi, Enforced, Hello, Ready};
use crate::load::{LoadError, locate};
use crate::sandbox::{restrict_calls, restrict_files, restrict_resources};
use channel::{Answers, Broken, Requests};
use descriptors::Descriptors;

/// The argument that makes the server's own executable a worker.
pub const ARGUMENT: &str = "dyn-worker";

/// Turns this process into a worker. The server starts its own executable for this, with the request
/// pipe as standard input and the answer pipe as standard output. Call it first in `main`.
pub fn run() -> ! {
    let broken = match work() {
        Ok(()) => end(Ending::Stopped),
        Err(broken) => broken,
    };
    let _ = writeln!(io::stderr(), "dyn-worker: {broken}");
    end(Ending::Broken)
}

/// Why a worker left by itself, as its exit status says it.
#[derive(Debug, Clone, Copy)]
enum Ending {
    /// STOP, or the server is gone.
    Stopped = 0,
    /// The pipes or the frames on them cannot be used.
    Broken = 70,
    /// The library cannot be loaded, or cannot be trusted after what it did.
    Unfit = 71,
}

fn end(ending: Ending) -> ! {
    // SAFETY: ends the process without running exit handlers, which may belong to the library.
    unsafe { libc::_exit(ending as i32) }
}

fn work() -> Result<(), Broken> {
    let descriptors = descriptors::take_over().map_err(Broken::Pipe)?;
    let mut requests = Requests::new(descriptors.requests);
    let mut answers = Answers::new(descriptors.answers);
    let Some((id, hello)) = requests.hello()? else { return Ok(()) };
    match prepare(&hello, descriptors) {
        Ok((library, ready)) => {
            answers.ready(id, &ready)?;
            serve::serve(library, &mut requests, &mut answers)
        }
        Err(error) => {
            answers.load_failed(id, &error.chain())?;
            end(Ending::Unfit)
        }
    }
}

/// The order matters: no code of the library runs before landlock, and none but the loading runs before
/// seccomp.
fn prepare(hello: &Hello, descriptors: Descriptors) -> Result<(Library, Ready), LoadError> {
    let plan = &hello.plan;
    let path = locate(&plan.library)?;
    let files = restrict_files(&hello.sandbox, &path)?;
    hang_up::watch(descriptors.requests).map_err(LoadError::Worker)?;
    let library = Library::open_file(&path, plan)?;
    crash::report_to(descriptors.answers, library.ranges()).map_err(LoadError::Worker)?;
    restrict_resources(&plan.limits)?;
    let system_calls = restrict_calls(hello.sandbox.profile)?;
    let enforced = Enforced { files, system_calls };
    let ready = Ready { functions: library.readiness(), abi: Abi::HOST, enforced };
    Ok((library, ready))
}
