//! Credentials of a call, in the places where an API looks for them.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, header};
use toolmux_core::delivery::GrantName;
use toolmux_core::message::Message;
use toolmux_core::ports::source::SourceError;
use toolmux_core::refusal::Refusal;
use toolmux_core::requirements::Grants;
use toolmux_core::secret::Secret;
use toolmux_http::client::sensitive;

use super::escape::Escape;
use super::operation::{CredentialPlace, OperationCredential};

/// What a request carries. Not `Debug`: all of it is secret.
#[derive(Default)]
pub(super) struct CarriedCredentials<'a> {
    pub(super) headers: HeaderMap,
    pub(super) query: Vec<(&'a str, Cow<'a, str>)>,
    /// Pairs of a `cookie` header.
    pub(super) cookies: Vec<u8>,
}

/// The credentials of an operation among those of a call. What it lacks the server will miss: whether a call may lack it
/// is the gateway's to say.
pub(super) fn carried<'a>(
    credentials: &'a [OperationCredential],
    grants: &'a Grants,
) -> Result<CarriedCredentials<'a>, SourceError> {
    let mut carried = CarriedCredentials::default();
    for OperationCredential { grant, place } in credentials {
        let Some(secret) = find(grants, grant) else { continue };
        match place {
            CredentialPlace::Header { name, prefix } => {
                insert(&mut carried.headers, name, &format!("{prefix}{secret}"))?;
            }
            CredentialPlace::Basic => {
                let text = format!("Basic {}", STANDARD.encode(secret));
                insert(&mut carried.headers, header::AUTHORIZATION.as_str(), &text)?;
            }
            CredentialPlace::Query(name) => carried.query.push((name, Cow::Borrowed(secret))),
            CredentialPlace::Cookie(name) => {
                if !carried.cookies.is_empty() {
                    carried.cookies.extend_from_slice(b"; ");
                }
                Escape::Unreserved.push(name, &mut carried.cookies);
                carried.cookies.push(b'=');
                Escape::Unreserved.push(secret, &mut carried.cookies);
            }
        }
    }
    Ok(carried)
}

/// The provider of a credential that is a token.
pub(super) fn token_of(credential: &OperationCredential) -> Option<&str> {
    match &credential.grant {
        GrantName::Token(provider) => Some(provider),
        GrantName::Secret(_) | GrantName::User => None,
    }
}

fn find<'a>(grants: &'a Grants, name: &GrantName) -> Option<&'a str> {
    match name {
        GrantName::Token(provider) => grants.token(provider).map(Secret::expose),
        GrantName::Secret(id) => grants.secret(id).map(Secret::expose),
        GrantName::User => grants.user_id.as_deref(),
    }
}

fn insert(headers: &mut HeaderMap, name: &str, text: &str) -> Result<(), SourceError> {
    let pair = HeaderName::try_from(name).ok().zip(sensitive(text));
    let (header, value) = pair.ok_or_else(|| {
        let words = format!("The credential for header `{name}` cannot be sent in one");
        SourceError::Refused(Refusal::Internal(Message::public(words)))
    })?;
    headers.insert(header, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(place: CredentialPlace, secret: &str, expect: [&str; 3]) {
        let credentials = [OperationCredential { grant: GrantName::Secret("KEY".into()), place }];
        let grants = Grants { secrets: vec![("KEY".into(), Secret::new(secret))], ..Grants::default() };
        let carried = carried(&credentials, &grants).unwrap();
        assert!(carried.headers.values().all(http::HeaderValue::is_sensitive));
        let header = carried.headers.values().next().map_or("", |value| value.to_str().unwrap());
        let query = carried.query.first().map_or(String::new(), |(name, value)| format!("{name}={value}"));
        let cookies = String::from_utf8(carried.cookies).unwrap();
        assert_eq!([header, &query, &cookies], expect);
    }

    #[test]
    fn a_credential_is_where_the_api_looks_for_it() {
        let header = CredentialPlace::Header { name: "Authorization".into(), prefix: "Bearer ".into() };
        check(header, "t0ken", ["Bearer t0ken", "", ""]);
        check(CredentialPlace::Basic, "user:pass word", ["Basic dXNlcjpwYXNzIHdvcmQ=", "", ""]);
        check(CredentialPlace::Query("api_key".into()), "a&b", ["", "api_key=a&b", ""]);
        check(CredentialPlace::Cookie("session".into()), "a; b=c", ["", "", "session=a%3B%20b%3Dc"]);
    }

    #[test]
    fn a_credential_that_no_header_can_carry_is_not_sent_and_not_shown() {
        let place = CredentialPlace::Header { name: "X-Key".into(), prefix: String::new() };
        let credentials = [OperationCredential { grant: GrantName::Token("github".into()), place }];
        let mut grants = Grants::default();
        assert!(carried(&credentials, &grants).unwrap().headers.is_empty(), "an absent one is left out");
        grants.authorization.push(("github".into(), Secret::new("hunter2\r\nX-Admin: 1")));
        let error = carried(&credentials, &grants).err().unwrap();
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}
