//! One HTTP request of one tool call: what every kind of source shares that turns requests into tools.

mod operation;

pub(crate) use self::operation::{
    BodyMedia, BodySource, CredentialPlace, Operation, OperationCredential, OperationParameter, OutputCheck,
    ParameterPlace, ParameterStyle, PathPiece, PropertyEncoding, PropertyForm, RequestBody, ResponseForm, ResponseRule,
};
