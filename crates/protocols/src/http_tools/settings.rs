//! What may stand in the table of a source of HTTP requests.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::http_request::{FileSettings, OutputCheck, ParameterPlace, ParameterStyle};
use crate::registry::SecretSetting;
use crate::tls::TlsSetting;

/// HTTP requests as tools.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpSettings {
    /// The base URL; the paths of requests are appended.
    pub(super) url: String,
    /// The tools, by name.
    pub(super) tools: BTreeMap<String, HttpTool>,
    /// Headers for every request. The caller's own credentials are never among them.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, SecretSetting>,
    /// Checks answers against `returns`: `warn` (the default) notes in the result and in the log what does not fit,
    /// `strict` fails the call.
    #[serde(default)]
    pub(super) output: OutputCheck,
    /// Lets calls send files of this machine by their path.
    #[serde(default)]
    pub(super) files: Option<FileSettings>,
    /// Maximum size of an answer, in bytes, after decompression.
    #[serde(default = "most_answer")]
    pub(super) max_answer: usize,
    /// TLS of requests to `url`: a private authority, a client certificate.
    #[serde(default)]
    pub(super) tls: Option<TlsSetting>,
}

fn most_answer() -> usize {
    16 << 20
}

/// One request as a tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpTool {
    /// What the tool does, for people and models.
    pub(super) description: String,
    /// Method and path, such as `GET /forecast/{city}`. Names in braces are parameters of the path.
    #[serde(default)]
    pub(super) request: Option<String>,
    /// A GraphQL operation, posted to `url` or to the path of `request`. Its variables are the parameters.
    #[serde(default)]
    pub(super) graphql: Option<String>,
    /// Each parameter: a JSON Schema with the additional keys below.
    #[serde(default)]
    pub(super) parameters: BTreeMap<String, HttpParameter>,
    /// Headers for its requests, in addition to those of the source.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, SecretSetting>,
    /// How the body is written: the parameters as one JSON object (the default), a form, a multipart body, or one
    /// parameter as text or as bytes.
    #[serde(default)]
    pub(super) body: BodySetting,
    /// JSON Schema of the result.
    #[serde(default)]
    pub(super) returns: Option<Map<String, Value>>,
    /// Whether the tool changes nothing. Default: by the method.
    #[serde(default)]
    pub(super) read_only: Option<bool>,
}

/// One parameter: what is not a key of ours is its JSON Schema.
#[derive(Deserialize, JsonSchema)]
pub(super) struct HttpParameter {
    /// Where it goes. Default: the path if its name is in braces there, the query of a `GET`, otherwise the body.
    #[serde(default, rename = "in")]
    pub(super) place: Option<PlaceSetting>,
    /// Its name in the request. Default: its own.
    #[serde(default)]
    pub(super) name: Option<String>,
    /// Whether a call must have it. Default: yes, unless its schema has a `default`. A list is the `required` of its
    /// schema.
    #[serde(default)]
    pub(super) required: Option<RequiredSetting>,
    /// How arrays and objects are written: the styles of OpenAPI, or `json`. Default: that of OpenAPI for the place.
    #[serde(default)]
    pub(super) style: Option<StyleSetting>,
    /// Whether each item of an array, or member of an object, stands for itself. Default: for the style `form`.
    #[serde(default)]
    pub(super) explode: Option<bool>,
    /// Sends this value with every request; the parameter is not one of the tool then.
    #[serde(default)]
    pub(super) value: Option<Value>,
    #[serde(flatten)]
    pub(super) schema: BTreeMap<String, Value>,
}

/// Where a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum PlaceSetting {
    Path,
    Query,
    Header,
    Cookie,
    Body,
}

impl PlaceSetting {
    /// The place outside of the body.
    pub(super) fn parameter(self) -> Option<ParameterPlace> {
        match self {
            PlaceSetting::Path => Some(ParameterPlace::Path),
            PlaceSetting::Query => Some(ParameterPlace::Query),
            PlaceSetting::Header => Some(ParameterPlace::Header),
            PlaceSetting::Cookie => Some(ParameterPlace::Cookie),
            PlaceSetting::Body => None,
        }
    }
}

/// Whether a call must have a parameter, or which members an object must have.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum RequiredSetting {
    Parameter(bool),
    Members(Vec<String>),
}

/// How arrays and objects are written.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum StyleSetting {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
    Json,
}

impl From<StyleSetting> for ParameterStyle {
    fn from(style: StyleSetting) -> Self {
        match style {
            StyleSetting::Simple => ParameterStyle::Simple,
            StyleSetting::Label => ParameterStyle::Label,
            StyleSetting::Matrix => ParameterStyle::Matrix,
            StyleSetting::Form => ParameterStyle::Form,
            StyleSetting::SpaceDelimited => ParameterStyle::SpaceDelimited,
            StyleSetting::PipeDelimited => ParameterStyle::PipeDelimited,
            StyleSetting::DeepObject => ParameterStyle::DeepObject,
            StyleSetting::Json => ParameterStyle::Json,
        }
    }
}

/// How a body is written.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum BodySetting {
    #[default]
    Json,
    Form,
    Multipart,
    Text,
    Bytes,
}
