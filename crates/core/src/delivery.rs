//! How credentials reach a tool: in a header, in its environment, or as an argument that no model sees.

use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::arguments::Arguments;
use crate::requirements::Grants;
use crate::schema::Schema;
use crate::secret::Secret;

/// One credential and the place where the tool looks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The credential that is delivered.
    pub grant: GrantName,
    /// Where it goes.
    pub place: Place,
}

/// The name of a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantName {
    /// The token of a provider.
    Token(String),
    /// A secret by its name.
    Secret(String),
    /// The id of the user.
    User,
}

/// Where a credential goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A header of the request to the source.
    Header {
        /// The name of the header.
        name: String,
        /// What stands before the credential, such as `Bearer `.
        prefix: String,
    },
    /// A variable in the environment of the command.
    Environment(String),
    /// An argument of the tool, which is taken out of the schema that models see.
    Argument(String),
}

/// Arguments with credentials among them, which `Debug` does not show.
#[derive(Clone)]
pub(crate) struct Filled(pub(crate) Arguments);

impl fmt::Debug for Filled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Filled(…)")
    }
}

/// A credential among those of a call.
pub(crate) fn find(grants: &Grants, name: &GrantName) -> Option<Secret> {
    match name {
        GrantName::Token(provider) => grants.token(provider).cloned(),
        GrantName::Secret(id) => grants.secret(id).cloned(),
        GrantName::User => grants.user_id.clone().map(Secret::new),
    }
}

/// The arguments with those that configuration fixes and the credentials that are delivered as such; `None` when there
/// are neither.
pub(crate) fn fill(
    fixed: &Map<String, Value>,
    deliver: &[Delivery],
    arguments: &Arguments,
    grants: &Grants,
) -> Option<Filled> {
    let whole = (!fixed.is_empty()).then(|| with_fixed(fixed, arguments));
    let delivered = delivered(deliver, whole.as_ref().unwrap_or(arguments), grants);
    delivered.or(whole.map(Filled))
}

/// The arguments with those that configuration fixes, which are not among them. The text of the others stays as it is,
/// digit for digit.
pub(crate) fn with_fixed(fixed: &Map<String, Value>, arguments: &Arguments) -> Arguments {
    let (own, given) = (Arguments::from_map(fixed.clone()), arguments.text().get().trim_start());
    if fixed.is_empty() || arguments.map().is_empty() {
        return if fixed.is_empty() { arguments.clone() } else { own };
    }
    let members = own.text().get().strip_suffix('}').unwrap_or_default();
    let text = format!("{members},{}", given.strip_prefix('{').unwrap_or_default());
    let read = RawValue::from_string(text).ok().and_then(|text| Arguments::read(Some(&text)).ok());
    read.expect("two objects without a common name are one object")
}

/// The arguments with the credentials that are delivered as such; `None` when none are. What a caller wrote
/// in such a place goes, whether there is a credential for it or not.
pub(crate) fn delivered(deliver: &[Delivery], arguments: &Arguments, grants: &Grants) -> Option<Filled> {
    let mut map = None;
    for (name, grant) in arguments_of(deliver) {
        let map = map.get_or_insert_with(|| arguments.map().clone());
        map.shift_remove(name);
        if let Some(secret) = find(grants, grant) {
            map.insert(name.to_owned(), Value::String(secret.expose().to_owned()));
        }
    }
    map.map(|map| Filled(Arguments::from_map(map)))
}

/// A schema without the parameters that are delivered.
pub(crate) fn hide(deliver: &[Delivery], schema: &Schema) -> Schema {
    if arguments_of(deliver).next().is_none() {
        return schema.clone();
    }
    without_parameters(schema, arguments_of(deliver).map(|(name, _)| name))
}

/// A schema without these parameters.
pub(crate) fn without_parameters<'a>(schema: &Schema, names: impl Iterator<Item = &'a str>) -> Schema {
    let mut value = schema.value().clone();
    for name in names {
        if let Some(properties) = value.get_mut("properties").and_then(Value::as_object_mut) {
            properties.shift_remove(name);
        }
        if let Some(required) = value.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|required| required != name);
        }
    }
    if value == *schema.value() { schema.clone() } else { Schema::new(value) }
}

fn arguments_of(deliver: &[Delivery]) -> impl Iterator<Item = (&str, &GrantName)> {
    deliver.iter().filter_map(|delivery| match &delivery.place {
        Place::Argument(name) => Some((name.as_str(), &delivery.grant)),
        Place::Header { .. } | Place::Environment(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key_as_argument() -> Vec<Delivery> {
        vec![Delivery { grant: GrantName::Secret("KEY".into()), place: Place::Argument("key".into()) }]
    }

    fn check(grants: &Grants, expect: Option<Value>) {
        let given =
            Arguments::from_map(json!({ "a": 1, "key": "from a model" }).as_object().unwrap().clone());
        let filled = delivered(&key_as_argument(), &given, grants);
        assert!(!format!("{filled:?}").contains("hunter2"));
        assert_eq!(filled.map(|filled| filled.0.value().clone()), expect);
    }

    #[test]
    fn a_delivered_argument_wins_over_what_a_model_wrote() {
        let grants = Grants { secrets: vec![("KEY".into(), Secret::new("hunter2"))], ..Grants::default() };
        check(&grants, Some(json!({ "a": 1, "key": "hunter2" })));
        check(&Grants::default(), Some(json!({ "a": 1 })));
    }

    #[test]
    fn fixed_arguments_are_added_and_the_text_of_others_stays() {
        let fixed = json!({ "owner": "acme" }).as_object().unwrap().clone();
        for (given, expect) in [
            ("{}", r#"{"owner":"acme"}"#),
            (
                r#" { "n" : 12345678901234567890123.0 } "#,
                r#"{"owner":"acme", "n" : 12345678901234567890123.0 }"#,
            ),
        ] {
            let given: Box<RawValue> = serde_json::from_str(given).unwrap();
            let given = Arguments::read(Some(&given)).unwrap();
            let filled = fill(&fixed, &[], &given, &Grants::default()).expect("filled").0;
            assert_eq!(filled.text().get(), expect);
        }
        assert!(fill(&Map::new(), &[], &Arguments::none(), &Grants::default()).is_none());
    }

    #[test]
    fn models_do_not_see_a_delivered_argument() {
        let schema = Schema::new(
            json!({ "properties": { "a": {}, "key": {}, "b": {} }, "required": ["key", "a"], "additionalProperties": false }),
        );
        let hidden = hide(&key_as_argument(), &schema);
        let expect =
            json!({ "properties": { "a": {}, "b": {} }, "required": ["a"], "additionalProperties": false });
        assert_eq!(hidden.value(), &expect);
    }
}
