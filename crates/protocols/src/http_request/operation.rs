//! The HTTP request that a tool stands for, described when the tool is listed: where it goes, and which argument goes
//! where. How arguments are written is in the files beside; nothing here is looked up again by a call.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method};
use toolmux_core::delivery::GrantName;
use toolmux_core::schema::Schema;
use toolmux_core::tool::Hints;
use toolmux_http::network_zone::Reach;
use url::Url;

/// Which request a call makes, and of what.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) method: Method,
    /// Scheme, host, port, and the path that `path` is appended to. Its query is part of every request.
    pub(crate) base: Url,
    pub(crate) named_by: NamedBy,
    pub(crate) path: Vec<PathPiece>,
    /// In the order in which a query is written.
    pub(crate) parameters: Vec<OperationParameter>,
    pub(crate) body: Option<RequestBody>,
    /// What every request says; shared by the operations of a source. Values that are secrets are marked sensitive.
    pub(crate) headers: Arc<HeaderMap>,
    /// Credentials among those of a call that the request carries.
    pub(crate) credentials: Vec<OperationCredential>,
    pub(crate) response: ResponseRule,
}

/// Who names the server of an operation, which decides what it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedBy {
    /// The configuration, by its address or by that of a document on the same origin: it may be anywhere, and gets headers,
    /// credentials and the client certificate of the source.
    Configuration,
    /// A document alone, within this reach: it gets none of them.
    Document(Reach),
}

/// A piece of the path of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathPiece {
    /// As the template writes it, `/` included.
    Literal(String),
    /// The parameter at this place in the list of the operation.
    Parameter(usize),
}

/// An argument that goes into the path, the query, a header or a cookie.
#[derive(Clone, Debug)]
pub(crate) struct OperationParameter {
    /// The name of the argument.
    pub(crate) argument: String,
    /// The name in the request.
    pub(crate) name: String,
    pub(crate) place: ParameterPlace,
    pub(crate) style: ParameterStyle,
    /// Each item, or each member, stands for itself.
    pub(crate) explode: bool,
    /// Reserved characters that cannot change the meaning of a query stay as they are. Of the query alone.
    pub(crate) allow_reserved: bool,
    /// Sent in place of an argument, as JSON text; no argument of that name is looked at.
    pub(crate) fixed: Option<String>,
}

impl OperationParameter {
    /// An argument under its own name, written as OpenAPI writes parameters of this place by default.
    pub(crate) fn new(name: impl Into<String>, place: ParameterPlace) -> Self {
        let name = name.into();
        let style = place.default_style();
        let explode = style == ParameterStyle::Form;
        let argument = name.clone();
        OperationParameter { argument, name, place, style, explode, allow_reserved: false, fixed: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ParameterPlace {
    Path,
    Query,
    Header,
    Cookie,
}

impl ParameterPlace {
    /// The style of a parameter that names none (OpenAPI 3.1, Parameter Object).
    pub(crate) fn default_style(self) -> ParameterStyle {
        match self {
            ParameterPlace::Path | ParameterPlace::Header => ParameterStyle::Simple,
            ParameterPlace::Query | ParameterPlace::Cookie => ParameterStyle::Form,
        }
    }
}

/// How arrays and objects are written: the styles of OpenAPI 3.1.
///
/// A `collectionFormat` of 2.0 is one of them: `csv` is [`Simple`](Self::Simple) or [`Form`](Self::Form) without
/// `explode`, `multi` is `Form` with it, `ssv` is [`SpaceDelimited`](Self::SpaceDelimited), `tsv` is
/// [`TabDelimited`](Self::TabDelimited), `pipes` is [`PipeDelimited`](Self::PipeDelimited); the last three in any place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ParameterStyle {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    TabDelimited,
    DeepObject,
    /// The JSON text of the value: a parameter with `content`.
    Json,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub(crate) struct RequestBody {
    pub(crate) source: BodySource,
    pub(crate) media: BodyMedia,
    /// The `content-type`. Of a multipart body without its boundary, which is added.
    pub(crate) content_type: HeaderValue,
}

/// Which arguments are the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BodySource {
    /// The value of one argument; there is no body when it is absent.
    Argument(String),
    /// An object of all arguments that no parameter takes, which may be empty. A pair gives the name of an argument and the name that it
    /// has in the body, for those where the two differ.
    Remaining(Vec<(String, String)>),
}

/// How a body is written.
#[derive(Clone, Debug)]
pub(crate) enum BodyMedia {
    /// JSON, and everything like `application/vnd.api+json`.
    Json,
    /// `application/x-www-form-urlencoded`. Properties that are not named here are [`PropertyForm::Plain`].
    Form(Vec<(String, PropertyEncoding)>),
    /// `multipart/form-data` and the other multipart types; the same.
    Multipart(Vec<(String, PropertyEncoding)>),
    /// Text as it is; a value that is not text as JSON.
    Text,
    /// The bytes of a file (see [`super::files`]).
    Bytes,
    /// A GraphQL operation, whose variables the arguments are.
    GraphQl { query: String },
}

/// How one property of a form or of a multipart body is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct PropertyEncoding {
    pub(crate) form: PropertyForm,
    /// The type of the part of a multipart body; absent: by the form.
    pub(crate) content_type: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PropertyForm {
    /// By the value: text and numbers as they are, each item of an array by itself, objects as JSON.
    #[default]
    Plain,
    /// As a parameter of the query would be.
    Styled {
        style: ParameterStyle,
        explode: bool,
        allow_reserved: bool,
    },
    Json,
    /// Text of the type of the part, which the value is already.
    Text,
    /// The bytes of a file, or of each of several in an array (see [`super::files`]).
    File,
}

/// A credential that a call brings and the request carries.
#[derive(Clone, Debug)]
pub(crate) struct OperationCredential {
    pub(crate) grant: GrantName,
    pub(crate) place: CredentialPlace,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CredentialPlace {
    /// A header, with what stands before the credential, such as `Bearer `.
    Header {
        name: String,
        prefix: String,
    },
    /// `authorization: Basic …` of a credential `user:password`.
    Basic,
    Query(String),
    Cookie(String),
}

/// What is made of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResponseRule {
    pub(crate) form: ResponseForm,
    pub(crate) check: OutputCheck,
    /// What a good answer fits, for `check`.
    pub(crate) schema: Option<Schema>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ResponseForm {
    /// The body is the value.
    #[default]
    Body,
    /// The value is the member `data`; `errors` are a failure.
    GraphQl,
}

/// What is done about an answer that does not fit the output schema of its tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OutputCheck {
    /// Answers are not checked.
    Off,
    /// The result says what does not fit, and so does the log.
    #[default]
    Warn,
    /// The call fails.
    Strict,
}

/// What a method says about a tool (RFC 9110, 9.2).
pub(crate) fn hints_of(method: &Method) -> Hints {
    let is_safe = method.is_safe();
    let destructive = if is_safe { Some(false) } else { (*method == Method::DELETE).then_some(true) };
    Hints {
        read_only: Some(is_safe),
        idempotent: Some(method.is_idempotent()),
        destructive,
        open_world: Some(true),
        tasks: None,
    }
}
