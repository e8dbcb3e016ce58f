//! OpenDyn: functions of C libraries as tools. Documents are read and checked here, values cross between
//! JSON and bytes here, and workers are watched here; the C side is the crate `toolmux-dylib-host`.

mod answers;
mod carrier;
mod decode;
mod decode_structure;
mod detect;
mod direct;
mod document;
mod encode;
mod encode_bytes;
mod encode_element;
mod encode_names;
mod encode_structure;
mod enforcement;
mod engine;
mod failure_details;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod handles;
pub mod header;
mod in_process;
mod layout;
mod library_document;
mod library_files;
mod plan;
mod refused_access;
mod returned;
mod schema;
mod schema_structure;
mod settings;
mod source;
mod supervise;
mod worker_faults;

pub use self::answers::{AnswerPlace, OpenQuestion, add_answer, open_questions};
pub use self::direct::{Direct, DirectError};
pub use self::library_document::{LibraryDocument, describe_library};
pub use self::plan::check;
pub use self::source::{enforced_here, open};
pub use self::supervise::become_worker_if_asked;
pub use toolmux_dylib_host::hello::{Degree, Enforced};

use self::detect::{DETECTION, of_document, takes_library};
use self::settings::OpenDynSettings;
use self::source::open_here;
use crate::registry::{DocumentKind, SourceKind};

pub(crate) const SOURCE: SourceKind = SourceKind {
    kind: "opendyn",
    settings: || schemars::schema_for!(OpenDynSettings),
    open: open_here,
    asks_for_tokens: |_| false,
    detection: DETECTION,
};

pub(crate) const DOCUMENT: DocumentKind = DocumentKind {
    name: "OpenDyn document",
    member: "opendyn",
    likely_member: None,
    check,
    source_kind: SOURCE.kind,
    takes: takes_library,
    source: of_document,
    report: None,
};
