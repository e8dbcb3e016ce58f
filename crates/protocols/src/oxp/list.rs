//! Tools as OXP lists them: every version, schemas without references.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use toolmux_core::call::Caller;
use toolmux_core::catalog::{Catalog, Entry};
use toolmux_core::requirements::Requirements;
use toolmux_core::tool::Returns;

use crate::documents::inlined_schema::InlineBudget;

#[derive(Serialize)]
struct ToolList<'a> {
    items: Vec<ToolDefinition<'a>>,
}

#[derive(Serialize)]
struct ToolDefinition<'a> {
    id: String,
    name: &'a str,
    description: &'a str,
    version: String,
    input_schema: Value,
    /// Null says that the tool returns nothing; absent says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requirements: Option<ToolRequirements<'a>>,
}

#[derive(Serialize)]
struct ToolRequirements<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization: Vec<AuthorizationRequirement<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<SecretRequirement<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    user_id: bool,
}

#[derive(Serialize)]
struct AuthorizationRequirement<'a> {
    id: &'a str,
    oauth2: OAuth2<'a>,
}

#[derive(Serialize)]
struct OAuth2<'a> {
    scopes: &'a [String],
}

#[derive(Serialize)]
struct SecretRequirement<'a> {
    id: &'a str,
}

/// The list for a caller. Both body forms take the same bytes: the older one may leave `$schema` out.
pub(super) fn list(catalog: &Catalog, caller: &Caller) -> Bytes {
    let mut budget = InlineBudget::default();
    let items = catalog.all(caller).map(|entry| definition(entry, &mut budget)).collect();
    serde_json::to_vec(&ToolList { items }).expect("a list of JSON values is always writable").into()
}

/// One tool as the list has it.
pub(super) fn one(entry: &Entry) -> Value {
    serde_json::to_value(definition(entry, &mut InlineBudget::default())).unwrap_or_default()
}

fn definition<'a>(entry: &'a Entry, budget: &mut InlineBudget) -> ToolDefinition<'a> {
    let mut inlined = |schema: &Value| budget.inlined(&entry.id.toolkit, schema);
    ToolDefinition {
        id: entry.id.to_string(),
        name: &entry.flat,
        description: &entry.tool.description,
        version: entry.id.version.to_string(),
        input_schema: inlined(entry.tool.input.value()),
        output_schema: match &entry.tool.returns {
            Returns::Nothing => Some(Value::Null),
            Returns::Anything => None,
            Returns::Matching(schema) => Some(inlined(schema.value())),
        },
        requirements: (!entry.requires.is_empty()).then(|| requirements(&entry.requires)),
    }
}

fn requirements(requires: &Requirements) -> ToolRequirements<'_> {
    ToolRequirements {
        authorization: requires
            .authorization
            .iter()
            .map(|needed| AuthorizationRequirement {
                id: &needed.id,
                oauth2: OAuth2 { scopes: &needed.scopes },
            })
            .collect(),
        secrets: requires.secrets.iter().map(|id| SecretRequirement { id }).collect(),
        user_id: requires.user_id,
    }
}
