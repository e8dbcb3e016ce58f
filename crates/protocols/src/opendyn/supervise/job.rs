//! A call on its way to C, what comes of it, and why it may not be taken.

use std::sync::Arc;
use std::time::Duration;

use toolmux_dylib_host::fault::CallFault;
use toolmux_dylib_host::frame::FrameError;

use super::death::Death;
use crate::opendyn::handles::{Opened, Ticket};

/// A call on its way to C.
pub(in crate::opendyn) struct Job {
    pub(in crate::opendyn) function: u16,
    pub(in crate::opendyn) values: Vec<u8>,
    /// How long it may run, once it does.
    pub(in crate::opendyn) limit: Duration,
    /// What it does to the table of handles; nothing for a call that opens and closes no object.
    pub(in crate::opendyn) ticket: Option<Box<Ticket>>,
}

impl Job {
    /// Enters what came of it into the table of handles. The answer may find nobody who waits for it, and its handles
    /// must be known all the same.
    pub(in crate::opendyn) fn settle(self, answered: Answered, generation: u32) -> Answered {
        let Some(ticket) = self.ticket else { return answered };
        match answered {
            Answered::Values(values, _) => {
                let opened = ticket.returned(&values, generation);
                Answered::Values(values, Some(opened))
            }
            Answered::Fault(fault, text) => {
                ticket.failed(fault);
                Answered::Fault(fault, text)
            }
            Answered::Died(_) | Answered::NotRun(_) => answered,
        }
    }
}

/// What came of a job.
#[derive(Debug)]
pub(in crate::opendyn) enum Answered {
    /// The payload of RESULT, and the handles in it.
    Values(Vec<u8>, Option<Opened>),
    Fault(CallFault, String),
    Died(Death),
    /// The job did not run.
    NotRun(Arc<str>),
}

/// Why a job is not taken.
#[derive(Debug)]
pub(in crate::opendyn) enum Rejected {
    /// As many wait as may.
    Full,
    /// Too many deaths, or the library cannot be loaded.
    Resting {
        reason: Arc<str>,
        rest: Duration,
    },
    /// The worker that made the handle is gone.
    Forgotten,
    TooLarge(FrameError),
    Closed,
}
