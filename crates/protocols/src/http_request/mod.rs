//! One HTTP request of one tool call: what every kind of source shares whose tools are HTTP requests.

mod argument_text;
mod body;
mod credentials;
mod escape;
mod files;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod link;
mod media_type;
mod multipart;
mod operation;
mod operation_set;
mod output;
mod path_template;
mod prepared;
mod response;
mod style;

pub(crate) use self::argument_text::ObjectMembers;
pub(crate) use self::files::{FileAccess, FileSettings};
pub(crate) use self::operation::{
    BodyMedia, BodySource, CredentialPlace, NamedBy, Operation, OperationCredential, OperationParameter,
    OutputCheck, ParameterPlace, ParameterStyle, PropertyEncoding, PropertyForm, RequestBody, ResponseForm,
    ResponseRule, hints_of,
};
pub(crate) use self::operation_set::OperationSet;
pub(crate) use self::output::OutputRule;
pub(crate) use self::path_template::{path_names, path_pieces};
