//! Where an operation is called: at the address of the configuration, else at the first server that the document names.

use serde_json::{Map, Value};
use toolmux_http::network_zone::Reach;
use url::Url;

use super::document::{ApiDocument, Edition, shown, text_of, texts_of};
use super::path_items::FoundOperation;
use crate::http_request::NamedBy;

/// What the configuration says about addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerRules {
    /// `url`, which is used whatever the document says.
    pub(super) url: Option<Url>,
    /// The address of the document, which relative ones are resolved against.
    pub(super) document: Option<Url>,
    /// Servers that the document names may be on this machine or in a private network.
    pub(super) allow_private: bool,
}

/// An address, and who names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ApiAddress {
    pub(super) base: Url,
    pub(super) named_by: NamedBy,
}

const GIVE_URL: &str = "give the source `url = \"https://…\"`";

impl ServerRules {
    /// The address of an operation: its own server, that of its path, or that of the document.
    pub(super) fn of_operation(
        &self,
        document: &ApiDocument,
        found: &FoundOperation<'_>,
    ) -> Result<ApiAddress, String> {
        if let Some(url) = &self.url {
            return Ok(ApiAddress { base: url.clone(), named_by: NamedBy::Configuration });
        }
        let named = match document.edition {
            Edition::V2 => host_and_path(document, found),
            Edition::V3_0 | Edition::V3_1 => {
                let root = document.root.as_object();
                let owners = [Some(found.operation), Some(found.item), root];
                owners.into_iter().flatten().find_map(first_server).transpose()?
            }
        };
        let address = self.resolved(named.as_deref().unwrap_or("/"))?;
        let named_by = match (self.is_of_document(&address), self.allow_private) {
            (true, _) => NamedBy::Configuration,
            (false, true) => NamedBy::Document(Reach::Anywhere),
            (false, false) => NamedBy::Document(Reach::Public),
        };
        Ok(ApiAddress { base: address, named_by })
    }

    fn resolved(&self, named: &str) -> Result<Url, String> {
        let parsed = match (&self.document, Url::parse(named)) {
            (_, Ok(url)) => Ok(url),
            (Some(base), Err(url::ParseError::RelativeUrlWithoutBase)) => base.join(named),
            (None, Err(url::ParseError::RelativeUrlWithoutBase)) => {
                return Err(format!("the document does not say where its server is; {GIVE_URL}"));
            }
            (_, Err(error)) => Err(error),
        };
        let url = parsed.map_err(|_| unusable(named))?;
        if matches!(url.scheme(), "http" | "https") && url.has_host() {
            Ok(url)
        } else {
            Err(unusable(named))
        }
    }

    /// Whether an address is on the host that the configuration names by the address of the document.
    fn is_of_document(&self, address: &Url) -> bool {
        self.document.as_ref().is_some_and(|document| document.origin() == address.origin())
    }
}

fn unusable(named: &str) -> String {
    format!("the server `{}` of the document is not an address that can be called; {GIVE_URL}", shown(named))
}

/// The first server of a list, with the default of each variable.
fn first_server(owner: &Map<String, Value>) -> Option<Result<String, String>> {
    let server = owner.get("servers")?.as_array()?.first()?.as_object()?;
    let mut rest = text_of(server, "url")?;
    let variables = server.get("variables").and_then(Value::as_object);
    let mut address = String::new();
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        let variable = variables.and_then(|all| all.get(name)?.as_object());
        let Some(value) = variable.and_then(default_of) else {
            let what = format!("the variable `{}` of the document's server has no default", shown(name));
            return Some(Err(format!("{what}; {GIVE_URL}")));
        };
        address.extend([before, &value]);
        rest = after;
    }
    address.push_str(rest);
    Some(Ok(address))
}

fn default_of(variable: &Map<String, Value>) -> Option<String> {
    let first = || variable.get("enum")?.as_array()?.first();
    match variable.get("default").or_else(first)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// `schemes`, `host` and `basePath` of 2.0; without a host the address is relative.
fn host_and_path(document: &ApiDocument, found: &FoundOperation<'_>) -> Option<String> {
    let root = document.root.as_object()?;
    let path = text_of(root, "basePath").unwrap_or("/");
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let Some(host) = text_of(root, "host") else { return Some(path) };
    let own = texts_of(found.operation, "schemes");
    let schemes = if own.is_empty() { texts_of(root, "schemes") } else { own };
    // Without any it is that of the document's address, which is mostly https.
    let plain = schemes.contains(&"http") && !schemes.contains(&"https");
    Some(format!("{}://{host}{path}", if plain { "http" } else { "https" }))
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::json;

    use super::*;

    fn check(document: Value, at: Option<&str>, expect: Result<(&str, NamedBy), &str>) {
        let read = ApiDocument::read(&document.to_string()).expect("a document");
        let empty = Map::new();
        let found = FoundOperation { method: Method::GET, path: "/a", item: &empty, operation: &empty };
        let rules = ServerRules { document: at.map(|at| at.parse().unwrap()), ..ServerRules::default() };
        match (rules.of_operation(&read, &found), expect) {
            (Ok(address), Ok(expect)) => {
                assert_eq!((address.base.as_str(), address.named_by), expect, "{document}");
            }
            (Err(why), Err(expect)) => assert!(why.contains(expect), "{why}"),
            (came, expect) => panic!("{document}: {came:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn servers_are_resolved_and_only_public_unless_the_configuration_names_them() {
        let v3 = |servers: Value| json!({ "openapi": "3.0.0", "servers": servers });
        let here = Some("http://127.0.0.1:8000/docs/openapi.json");
        let public = |url: &'static str| Ok((url, NamedBy::Document(Reach::Public)));
        check(v3(json!([{ "url": "https://h/v1" }])), None, public("https://h/v1"));
        check(v3(json!([{ "url": "https://h/v1" }])), here, public("https://h/v1"));
        check(v3(json!([{ "url": "/v1" }])), here, Ok(("http://127.0.0.1:8000/v1", NamedBy::Configuration)));
        check(
            v3(json!([{ "url": "http://127.0.0.1:8000" }])),
            here,
            Ok(("http://127.0.0.1:8000/", NamedBy::Configuration)),
        );
        check(v3(json!([])), here, Ok(("http://127.0.0.1:8000/", NamedBy::Configuration)));
        check(v3(json!([{ "url": "/v1" }])), None, Err("give the source `url"));
        check(v3(json!([])), None, Err("does not say where its server is"));
        check(v3(json!([{ "url": "ftp://h" }])), None, Err("`ftp://h`"));
        check(
            v3(
                json!([{ "url": "{scheme}://h:{port}/{x}", "variables": { "scheme": { "default": "https" }, "port": { "enum": [8443] }, "x": { "default": "v2" } } }]),
            ),
            None,
            public("https://h:8443/v2"),
        );
        check(v3(json!([{ "url": "https://{tenant}.h" }])), None, Err("`tenant`"));
        check(
            json!({ "swagger": "2.0", "host": "h:81", "basePath": "/v1", "schemes": ["http"] }),
            None,
            public("http://h:81/v1"),
        );
        check(
            json!({ "swagger": "2.0", "host": "h", "schemes": ["http", "https"] }),
            None,
            public("https://h/"),
        );
        check(
            json!({ "swagger": "2.0", "basePath": "v1" }),
            here,
            Ok(("http://127.0.0.1:8000/v1", NamedBy::Configuration)),
        );
        check(json!({ "swagger": "2.0" }), None, Err("give the source `url"));
    }
}
