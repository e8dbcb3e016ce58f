//! Which server a document names.

use serde_json::Value;
use toolmux_http::client::web_address;
use url::Url;

use super::settings::{DocumentPlace, RpcSettings};

/// What becomes of credentials where only the document names the server.
pub(super) const NOT_SENT: &str =
    "not sent to a server that only the document names; add its address as `url` to the source";

/// The address of the first server, with the defaults of its variables.
pub(super) fn server_of(document: &Value) -> Option<String> {
    let server = document.get("servers")?.get(0)?;
    let mut url = server.get("url")?.as_str()?.to_owned();
    for (name, variable) in server.get("variables").and_then(Value::as_object).into_iter().flatten() {
        let Some(default) = variable.get("default").and_then(Value::as_str) else { continue };
        url = url.replace(&format!("${{{name}}}"), default).replace(&format!("{{{name}}}"), default);
    }
    Some(url)
}

/// Where the methods are called, and who says so.
#[derive(Debug)]
pub(super) enum ServerAddress {
    /// The configuration, by `url` or by the address of the document on the same host.
    Configured(Url),
    /// The document alone.
    Named(Url),
}

impl ServerAddress {
    /// The server of a document. What the configuration says wins.
    pub(super) fn find(settings: &RpcSettings, named: Option<&str>) -> Result<ServerAddress, String> {
        if let Some(url) = &settings.url {
            return Ok(ServerAddress::Configured(url.clone()));
        }
        let missing =
            "The document names no server that can be called; add `url = \"http://…\"` to the source";
        let named = named.ok_or(missing)?;
        let found = match &settings.document {
            DocumentPlace::Address(document) => {
                let url = document.join(named).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
                let is_near = url.as_ref().is_some_and(|url| url.origin() == document.origin());
                url.map(
                    |url| if is_near { ServerAddress::Configured(url) } else { ServerAddress::Named(url) },
                )
            }
            DocumentPlace::File(_) | DocumentPlace::Discovered(_) => {
                web_address(named).map(ServerAddress::Named)
            }
        };
        match found.ok_or(missing)? {
            ServerAddress::Named(_) if !settings.headers.is_empty() => {
                Err(format!("`headers` are {NOT_SENT}"))
            }
            found => Ok(found),
        }
    }
}
