//! Credentials of a call, in the places where an API looks for them.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, header};
use toolmux_core::call::Call;
use toolmux_core::delivery::GrantName;
use toolmux_core::message::Message;
use toolmux_core::ports::source::SourceError;
use toolmux_core::refusal::Refusal;
use toolmux_core::requirements::Grants;
use toolmux_core::secret::Secret;
use toolmux_http::client::sensitive;

use super::escape::Escape;
use super::operation::{CredentialPlace, OperationCredential};
use super::prepared::PreparedOperation;

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
    operation: &'a PreparedOperation,
    call: &'a Call,
) -> Result<CarriedCredentials<'a>, SourceError> {
    let mut carried = CarriedCredentials::default();
    for OperationCredential { grant, place } in &operation.credentials {
        let Some(secret) = find(call.grants(), grant) else { continue };
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
