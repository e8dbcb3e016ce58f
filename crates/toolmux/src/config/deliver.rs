//! How credentials reach a tool, as people write it: `deliver = [{ token = "github", header = "Authorization" }]`.

use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_core::delivery::{Delivery, GrantName, Place};

/// What must be said of the credential.
pub(super) const ONE_CREDENTIAL: &str = "a list of tables, each with one of `token`, `secret` and `user_id`";
/// What must be said of its place.
pub(super) const ONE_PLACE: &str = "a list of tables, each with one of `header`, `env` and `argument`";

/// One credential and where it goes.
#[derive(Deserialize)]
#[serde(try_from = "WrittenDelivery")]
pub(super) struct RawDelivery(Delivery);

impl RawDelivery {
    pub(super) fn delivery(self) -> Delivery {
        self.0
    }
}

/// One of `token`, `secret`, `user_id`, and one of `header`, `env`, `argument`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenDelivery {
    /// The user's token of this provider.
    token: Option<String>,
    /// The secret of this name.
    secret: Option<String>,
    /// The id of the user.
    #[serde(default)]
    user_id: bool,
    /// A header of the request to the source.
    header: Option<String>,
    /// What precedes the credential in the header. Default for a token in `Authorization`: `Bearer `.
    prefix: Option<String>,
    /// An environment variable of the command.
    env: Option<String>,
    /// An argument of the tool. Models do not see it in the schema.
    argument: Option<String>,
}

impl TryFrom<WrittenDelivery> for RawDelivery {
    type Error = String;

    fn try_from(written: WrittenDelivery) -> Result<Self, String> {
        let grant = match (written.token, written.secret, written.user_id) {
            (Some(provider), None, false) => GrantName::Token(provider),
            (None, Some(id), false) => GrantName::Secret(id),
            (None, None, true) => GrantName::User,
            _ => return Err(ONE_CREDENTIAL.to_owned()),
        };
        let place = match (written.header, written.env, written.argument) {
            (Some(name), None, None) => {
                let bearer =
                    name.eq_ignore_ascii_case("authorization") && matches!(grant, GrantName::Token(_));
                let usual = if bearer { "Bearer " } else { "" };
                Place::Header { name, prefix: written.prefix.unwrap_or_else(|| usual.to_owned()) }
            }
            (None, Some(name), None) => Place::Environment(name),
            (None, None, Some(name)) => Place::Argument(name),
            _ => return Err(ONE_PLACE.to_owned()),
        };
        Ok(RawDelivery(Delivery { grant, place }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<Delivery, &str>) {
        let read = toml::from_str::<RawDelivery>(text).map(RawDelivery::delivery);
        assert_eq!(read.map_err(|error| error.message().to_owned()), expect.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn one_credential_goes_to_one_place() {
        let grant = GrantName::Token("github".into());
        let place = Place::Header { name: "Authorization".into(), prefix: "Bearer ".into() };
        check("token = 'github'\nheader = 'Authorization'", Ok(Delivery { grant, place }));
        let grant = GrantName::Secret("KEY".into());
        let place = Place::Environment("KEY".into());
        check("secret = 'KEY'\nenv = 'KEY'", Ok(Delivery { grant, place }));
        check("user_id = true", Err(ONE_PLACE));
        check("env = 'X'", Err(ONE_CREDENTIAL));
    }
}
