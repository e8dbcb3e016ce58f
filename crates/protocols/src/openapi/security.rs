//! Security schemes of a document: what an operation requires of the configuration, and where a request carries it.

use http::HeaderMap;
use serde_json::{Map, Value};
use toolmux_core::delivery::GrantName;
use toolmux_core::requirements::{AskedBy, Authorization, Requirements};
use url::Url;

use super::document::{ApiDocument, Edition, shown, text_of};
use super::path_items::FoundOperation;
use crate::http_request::{CredentialPlace, OperationCredential};

/// How many sets of credentials of one operation are looked at.
const MOST_SETS: usize = 16;
/// What stands before a token.
const BEARER: &str = "Bearer ";

/// A scheme, as far as a request carries its credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SecurityScheme {
    pub(super) place: CredentialPlace,
    /// Whose token: one that a provider gives to each user, which a secret can stand for.
    pub(super) by_provider: bool,
}

/// What is carried by every request already, because the configuration says so.
#[derive(Clone, Copy)]
pub(super) struct Carried<'a> {
    pub(super) headers: &'a HeaderMap,
    pub(super) url: Option<&'a Url>,
}

/// What an operation requires, and the credentials that its requests carry.
#[derive(Debug, Default)]
pub(super) struct OperationSecurity {
    pub(super) requires: Requirements,
    pub(super) credentials: Vec<OperationCredential>,
}

/// The schemes of a document by name, in its order.
pub(super) fn schemes(
    document: &ApiDocument,
) -> impl Iterator<Item = (&str, Result<Option<SecurityScheme>, String>)> {
    let members = match document.edition {
        Edition::V2 => document.object("/securityDefinitions"),
        Edition::V3_0 | Edition::V3_1 => document.object("/components/securitySchemes"),
    };
    members.into_iter().flatten().map(|(name, scheme)| {
        let read = document.followed(scheme).and_then(|scheme| read_scheme(name, scheme));
        (name.as_str(), read)
    })
}

/// A scheme; none for one that is no part of a request, such as a certificate of TLS.
fn read_scheme(name: &str, scheme: &Map<String, Value>) -> Result<Option<SecurityScheme>, String> {
    let bearer = |by_provider| {
        let place = CredentialPlace::Header { name: "Authorization".to_owned(), prefix: BEARER.to_owned() };
        Some(SecurityScheme { place, by_provider })
    };
    let unknown =
        |what: &str| format!("the security scheme `{}` is of an unknown kind `{}`", shown(name), shown(what));
    match text_of(scheme, "type") {
        Some("apiKey") => {
            let key = text_of(scheme, "name").unwrap_or_default().to_owned();
            let place = match text_of(scheme, "in") {
                Some("header") => CredentialPlace::Header { name: key, prefix: String::new() },
                Some("query") => CredentialPlace::Query(key),
                Some("cookie") => CredentialPlace::Cookie(key),
                other => return Err(unknown(other.unwrap_or("apiKey"))),
            };
            Ok(Some(SecurityScheme { place, by_provider: false }))
        }
        Some("basic") => Ok(Some(SecurityScheme { place: CredentialPlace::Basic, by_provider: false })),
        Some("http") => match text_of(scheme, "scheme").map(str::to_ascii_lowercase).as_deref() {
            Some("basic") => Ok(Some(SecurityScheme { place: CredentialPlace::Basic, by_provider: false })),
            Some("bearer") => Ok(bearer(false)),
            // Its header is made of what the server sent before.
            Some("digest") | None => Err(unknown("http")),
            Some(_) => {
                let prefix = format!("{} ", text_of(scheme, "scheme").unwrap_or_default());
                let place = CredentialPlace::Header { name: "Authorization".to_owned(), prefix };
                Ok(Some(SecurityScheme { place, by_provider: false }))
            }
        },
        Some("oauth2" | "openIdConnect") => Ok(bearer(true)),
        Some("mutualTLS") => Ok(None),
        other => Err(unknown(other.unwrap_or("without a type"))),
    }
}

impl Carried<'_> {
    /// Whether the configuration itself gives what a scheme asks for.
    fn has(self, place: &CredentialPlace) -> bool {
        match place {
            CredentialPlace::Header { name, .. } => self.headers.contains_key(name),
            CredentialPlace::Basic => {
                let of_user =
                    self.url.is_some_and(|url| !url.username().is_empty() || url.password().is_some());
                of_user || self.headers.contains_key(http::header::AUTHORIZATION)
            }
            CredentialPlace::Query(name) => {
                self.url.is_some_and(|url| url.query_pairs().any(|(known, _)| known == name.as_str()))
            }
            CredentialPlace::Cookie(_) => self.headers.contains_key(http::header::COOKIE),
        }
    }
}

/// Names of schemes that an operation requires and the document does not define.
pub(super) fn undefined<'d>(document: &'d ApiDocument, found: &FoundOperation<'d>) -> Vec<&'d str> {
    undefined_in(document, found.operation.get("security"))
}

/// Names of schemes that the document requires of every operation and does not define.
pub(super) fn undefined_at_root(document: &ApiDocument) -> Vec<&str> {
    undefined_in(document, document.root.get("security"))
}

fn undefined_in<'d>(document: &'d ApiDocument, listed: Option<&'d Value>) -> Vec<&'d str> {
    let sets = listed.and_then(Value::as_array).into_iter().flatten();
    let names = sets.filter_map(Value::as_object).flat_map(|set| set.keys().map(String::as_str));
    names.filter(|name| schemes(document).all(|(known, _)| known != *name)).collect()
}

/// What an operation requires. Each set of the document's list is enough; of a scheme whose header the configuration gives
/// nothing is required.
pub(super) fn of_operation(
    document: &ApiDocument,
    found: &FoundOperation<'_>,
    carried: Carried<'_>,
) -> Result<OperationSecurity, String> {
    let listed = found.operation.get("security").or_else(|| document.root.get("security"));
    let Some(listed) = listed.and_then(Value::as_array).filter(|sets| !sets.is_empty()) else {
        return Ok(OperationSecurity::default());
    };
    let mut security = OperationSecurity::default();
    let (mut sets, mut why) = (Vec::new(), None);
    for set in listed.iter().filter_map(Value::as_object).take(MOST_SETS) {
        match read_set(document, set, carried, &mut security.credentials) {
            Ok(alternatives) => sets.extend(alternatives),
            Err(fault) => why = why.or(Some(fault)),
        }
    }
    // A set that needs nothing comes last: what is configured is used.
    sets.sort_by_key(Requirements::is_empty);
    let Some((first, others)) = sets.split_first() else {
        return why.map_or(Ok(security), Err);
    };
    let asked_by = if first.is_empty() { AskedBy::Gateway } else { AskedBy::Nobody };
    security.requires = Requirements { asked_by, alternatives: others.to_vec(), ..first.clone() };
    Ok(security)
}

/// The ways to meet one set: a scheme may be met by a secret or by a provider of its name.
fn read_set(
    document: &ApiDocument,
    set: &Map<String, Value>,
    carried: Carried<'_>,
    credentials: &mut Vec<OperationCredential>,
) -> Result<Vec<Requirements>, String> {
    let mut ways = vec![Requirements::default()];
    for (name, scopes) in set {
        // Of a scheme that is not defined nobody knows what to send; `check` tells of it, and the API will.
        let Some((_, scheme)) = schemes(document).find(|(known, _)| known == name) else { continue };
        let scheme = match scheme {
            Ok(scheme) => scheme.filter(|scheme| !carried.has(&scheme.place)),
            Err(_) if carried.headers.contains_key(http::header::AUTHORIZATION) => None,
            Err(why) => return Err(why),
        };
        let Some(scheme) = scheme else { continue };
        let scopes = scopes.as_array().into_iter().flatten().filter_map(Value::as_str);
        let grants = scheme.grants(name, &scopes.map(str::to_owned).collect::<Vec<_>>());
        for (grant, _) in &grants {
            if !credentials.iter().any(|known| known.grant == *grant) {
                credentials.push(OperationCredential { grant: grant.clone(), place: scheme.place.clone() });
            }
        }
        let met =
            |way: &Requirements| grants.iter().map(|(_, needed)| joined(way, needed)).collect::<Vec<_>>();
        ways = ways.iter().flat_map(met).take(MOST_SETS).collect();
    }
    Ok(ways)
}

impl SecurityScheme {
    /// What may meet the scheme, the usual first: a secret of its name, and a token of a provider of its name.
    fn grants(&self, name: &str, scopes: &[String]) -> Vec<(GrantName, Requirements)> {
        let secret = Requirements { secrets: vec![name.to_owned()], ..Requirements::default() };
        let mut grants = vec![(GrantName::Secret(name.to_owned()), secret)];
        if matches!(&self.place, CredentialPlace::Header { prefix, .. } if prefix == BEARER) {
            let authorization = vec![Authorization::new(name, scopes.to_vec())];
            let token = Requirements { authorization, ..Requirements::default() };
            let at = if self.by_provider { 0 } else { grants.len() };
            grants.insert(at, (GrantName::Token(name.to_owned()), token));
        }
        grants
    }
}

fn joined(way: &Requirements, needed: &Requirements) -> Requirements {
    let mut joined = way.clone();
    joined.secrets.extend(needed.secrets.iter().cloned());
    joined.authorization.extend(needed.authorization.iter().cloned());
    joined
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Method};
    use serde_json::json;

    use super::*;

    /// What an operation with this `security` requires: each way as its secrets and providers.
    fn check(security: Value, headers: &[&'static str], expect: Result<&[&str], &str>) {
        let root = json!({ "openapi": "3.0.0", "components": { "securitySchemes": {
            "key": { "type": "apiKey", "in": "header", "name": "X-Key" },
            "asked": { "type": "apiKey", "in": "query", "name": "k" },
            "basic": { "type": "http", "scheme": "Basic" },
            "bearer": { "type": "http", "scheme": "bearer" },
            "oauth": { "type": "oauth2", "flows": {} },
            "tls": { "type": "mutualTLS" },
            "digest": { "type": "http", "scheme": "digest" },
        } } });
        let document = ApiDocument::read(&root.to_string()).unwrap();
        let operation = json!({ "security": security });
        let (item, operation) = (Map::new(), operation.as_object().unwrap());
        let found = FoundOperation { method: Method::GET, path: "/a", item: &item, operation };
        let headers = headers.iter().map(|name| (name.parse().unwrap(), HeaderValue::from_static("x")));
        let headers: HeaderMap = headers.collect();
        let came = of_operation(&document, &found, Carried { headers: &headers, url: None });
        let words = |set: &Requirements| {
            let tokens = set.authorization.iter().map(|needed| format!("@{}{:?}", needed.id, needed.scopes));
            set.secrets.iter().cloned().chain(tokens).collect::<Vec<_>>().join("+")
        };
        match (came, expect) {
            (Ok(came), Ok(expect)) => {
                let ways = std::iter::once(&came.requires).chain(&came.requires.alternatives).map(words);
                assert_eq!(ways.collect::<Vec<_>>(), expect, "{security}");
            }
            (Err(why), Err(expect)) => assert!(why.contains(expect), "{why}"),
            (came, expect) => panic!("{security}: {came:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn each_set_of_schemes_is_enough_and_what_headers_give_is_not_required() {
        check(json!([]), &[], Ok(&[""]));
        check(json!([{ "key": [] }]), &[], Ok(&["key"]));
        check(json!([{ "key": [] }]), &["x-key"], Ok(&[""]));
        check(json!([{ "basic": [] }]), &["authorization"], Ok(&[""]));
        check(json!([{ "bearer": [] }]), &[], Ok(&["bearer", "@bearer[]"]));
        check(json!([{ "oauth": ["read"] }]), &[], Ok(&["@oauth[\"read\"]", "oauth"]));
        check(json!([{ "key": [], "asked": [] }, { "basic": [] }]), &[], Ok(&["key+asked", "basic"]));
        check(json!([{}, { "key": [] }]), &[], Ok(&["key", ""]));
        check(json!([{ "tls": [] }]), &[], Ok(&[""]));
        check(json!([{ "none": [] }]), &[], Ok(&[""]));
        check(json!([{ "digest": [] }]), &[], Err("unknown kind `http`"));
        check(json!([{ "digest": [] }, { "key": [] }]), &[], Ok(&["key"]));
    }
}
