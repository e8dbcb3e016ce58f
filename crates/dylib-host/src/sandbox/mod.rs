//! What the worker of a library and programs in a sandbox give up: files and network through landlock, system calls
//! through seccomp and resources through rlimits. Linux only.

mod call_names;
mod call_numbers;
mod calls;
mod capabilities;
mod files;
mod filter;
mod program_calls;
mod program_files;
mod program_resources;
mod resources;
mod traps;

pub(crate) use calls::{restrict_calls, restrict_calls_of_loading};
pub(crate) use capabilities::give_up_capabilities;
pub(crate) use files::restrict_files;
pub(crate) use program_calls::{program_filters, restrict_program_calls};
pub(crate) use program_files::restrict_program_files;
pub(crate) use program_resources::{count_own_processes, restrict_program_resources};
pub(crate) use resources::{addresses, restrict_resources};
pub(crate) use traps::{answer_traps, denials, forget_denials};
