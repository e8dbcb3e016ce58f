//! Where the functions of a library run: in workers, or in this process.

use toolmux_core::ports::figures::ProcessFigures;
use toolmux_dylib_host::hello::Readiness;

use super::handles::Owner;
use super::in_process::InProcess;
use super::supervise::{Answered, Job, Pool, Rejected};

pub(super) enum Engine {
    Workers(Pool),
    InProcess(Box<InProcess>),
}

impl Engine {
    /// Runs a call; one with objects goes to the worker that made them. Dropping the future gives up the answer, not
    /// the call.
    pub(super) async fn run(
        &self,
        job: Job,
        generation: Option<u32>,
        owner: Option<&Owner<'_>>,
    ) -> Result<Answered, Rejected> {
        match self {
            Engine::Workers(pool) => pool.run(job, generation, owner).await,
            Engine::InProcess(library) => library.call(job),
        }
    }

    /// Per function: callable, or why not.
    pub(super) async fn readiness(&self) -> Result<Vec<Readiness>, Rejected> {
        match self {
            Engine::Workers(pool) => pool.ready().await.map(|ready| ready.functions.clone()),
            Engine::InProcess(library) => library.readiness(),
        }
    }

    /// What was counted of the workers.
    pub(super) fn figures(&self) -> Option<ProcessFigures> {
        match self {
            Engine::Workers(pool) => Some(pool.figures()),
            Engine::InProcess(_) => None,
        }
    }

    pub(super) async fn close(&self) {
        match self {
            Engine::Workers(pool) => pool.close().await,
            Engine::InProcess(_) => {}
        }
    }
}
