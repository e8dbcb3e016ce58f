//! A library in this process, for those that are trusted with it: no process between, and none to lose.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use toolmux_dylib_host::hello::Readiness;
use toolmux_dylib_host::plan::Plan;
use toolmux_dylib_host::{Library, LibraryError, error_chain};

use super::supervise::{Answered, Job, Rejected};

pub(super) struct InProcess {
    plan: Plan,
    library: OnceLock<Result<Mutex<Library>, Arc<str>>>,
}

impl InProcess {
    /// Loads nothing yet.
    pub(super) fn new(plan: Plan) -> Self {
        InProcess { plan, library: OnceLock::new() }
    }

    /// Loads the library when it is first needed; a failure is remembered.
    fn library(&self) -> Result<&Mutex<Library>, Rejected> {
        let open = || {
            let failed = |error: LibraryError| {
                Arc::from(format!("The library cannot be loaded: {}", error_chain(&error)))
            };
            Library::open(&self.plan).map(Mutex::new).map_err(failed)
        };
        let library = self.library.get_or_init(open).as_ref();
        library.map_err(|reason| Rejected::Resting { reason: Arc::clone(reason), rest: Duration::ZERO })
    }

    pub(super) fn readiness(&self) -> Result<Vec<Readiness>, Rejected> {
        Ok(self.library()?.lock().unwrap_or_else(PoisonError::into_inner).readiness())
    }

    /// Runs the function on this very thread: handing it to another costs more than a worker process.
    pub(super) fn call(&self, job: Job) -> Result<Answered, Rejected> {
        let mut library = self.library()?.lock().unwrap_or_else(PoisonError::into_inner);
        let mut result = Vec::new();
        let answered = match library.call(usize::from(job.function), &job.values, &mut result) {
            Ok(()) => Answered::Values(result, None),
            Err(error) => Answered::Fault(error.fault, error.text),
        };
        // With the library still locked: the next call must find in the table what this one closed.
        Ok(job.settle(answered, self.plan.generation))
    }
}
