//! OpenDyn: functions of C libraries as tools. Documents are read and checked here, values cross between
//! JSON and bytes here, and workers are watched here; the C side is the crate `toolmux-dylib-host`.

mod carrier;
mod decode;
mod direct;
mod document;
mod encode;
mod encode_element;
mod enforcement;
mod engine;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod handles;
pub mod header;
mod in_process;
mod plan;
mod refused_access;
mod schema;
mod settings;
mod source;
mod supervise;

use crate::registry::DocumentKind;

pub(crate) const DOCUMENT: DocumentKind = DocumentKind { name: "OpenDyn document", member: "opendyn", check };

pub use self::direct::{Direct, DirectError};
pub use self::plan::check;
pub(crate) use self::source::SOURCE;
pub use self::source::{enforced_here, missing, open};
pub use self::supervise::become_worker_if_asked;
pub use toolmux_dylib_host::hello::{Degree, Enforced};
pub use toolmux_dylib_host::loadable_names;
