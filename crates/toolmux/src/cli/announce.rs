//! What a server says when it is ready: what it serves, where, and lines to paste that try it.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use serde_json::json;
use toolmux_core::catalog::{Entry, UnservedCause};
use toolmux_core::example::example_arguments;
use toolmux_core::gateway::{Credential, Gateway};
use toolmux_core::plural::counted;
use toolmux_core::sources::SourceStatus;

use super::detect::{Certainty, Found};
use super::terminal::{Form, Terminal, note};
use crate::config::Config;
use crate::listener::served;
use crate::snippets::python_literal;

/// Says what words on the command line turned out to be, as far as that is known.
pub(super) fn tell_found(found: &[Found], known: Certainty, terminal: &Terminal) {
    for each in found.iter().filter(|each| each.certainty == known) {
        if terminal.notes == Form::Programs {
            tracing::info!(named = each.named, "found {}", each.what);
            continue;
        }
        note(&format!("found {}: {}", each.named, each.what));
    }
}

/// Whether callers have to show a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Callers {
    Anybody,
    WithKey,
}

/// Says what is served where, and how to try it. `base` is where this machine reaches the server.
pub(super) fn announce(gateway: &Gateway, address: SocketAddr, base: &str, terminal: &Terminal) {
    announce_ready(gateway, address, base, terminal);
    if terminal.notes == Form::Programs {
        return;
    }
    let catalog = gateway.catalog();
    let (callers, tool) = match gateway.admit(Credential::None, None) {
        Ok(anybody) => (Callers::Anybody, catalog.newest(&anybody).next().cloned()),
        Err(_) => (Callers::WithKey, catalog.every().next().cloned()),
    };
    if callers == Callers::WithKey {
        note("Every route except /health requires a key: Authorization: Bearer $KEY");
    }
    if let Some(tool) = tool {
        snippets(base, &tool, callers, terminal);
    }
}

/// Says where the console is, if there is one.
pub(super) fn announce_console(config: &Config, base: &str, terminal: &Terminal) {
    if config.console.enabled && terminal.notes == Form::People {
        note(&terminal.bold("To see and try it in a browser:"));
        note(&format!("  {base}/console"));
    }
}

/// Says what is served where, and what is not.
pub(super) fn announce_ready(gateway: &Gateway, address: SocketAddr, base: &str, terminal: &Terminal) {
    let catalog = gateway.catalog();
    if terminal.notes == Form::Programs {
        // The log has told of sources and of tools that are not served.
        tracing::info!(tools = catalog.len(), url = base, "serving");
        return;
    }
    // Scripts find the address in this line, behind " on ".
    let tools = counted(catalog.len(), "tool");
    let ready = format!("toolmux {} serves {tools} on {base}", env!("CARGO_PKG_VERSION"));
    note(&terminal.bold(&ready));
    for line in elsewhere(gateway, address, base) {
        note(&line);
    }
    tell_sources(gateway);
}

/// Where others reach a server that listens on more than one address, or behind a proxy.
fn elsewhere(gateway: &Gateway, address: SocketAddr, base: &str) -> Vec<String> {
    let scheme = base.split_once("://").map_or("http", |(scheme, _)| scheme);
    let outgoing = || outgoing_address(address.ip());
    let everywhere = address.ip().is_unspecified().then(|| listens_everywhere(scheme, address, outgoing()));
    let public = gateway.admission().info().public_url.map(|url| format!("  public address: {url}"));
    everywhere.into_iter().chain(public).collect()
}

fn listens_everywhere(scheme: &str, address: SocketAddr, outgoing: Option<IpAddr>) -> String {
    let usable = outgoing.map(|ip| format!(", such as {scheme}://{}", SocketAddr::new(ip, address.port())));
    format!("  listening on {address}: every address of this machine{}", usable.unwrap_or_default())
}

/// The address by which this machine reaches others, and so most likely others this machine. Nothing is sent.
fn outgoing_address(any: IpAddr) -> Option<IpAddr> {
    // Addresses for documentation (RFC 5737, RFC 3849): nobody has them, and routes to them are those to everybody.
    let far = if any.is_ipv4() { "192.0.2.1:9" } else { "[2001:db8::1]:9" };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
    socket.connect(far).ok()?;
    socket
        .local_addr()
        .ok()
        .map(|address| address.ip())
        .filter(|ip| !ip.is_unspecified() && !ip.is_loopback())
}

fn tell_sources(gateway: &Gateway) {
    for source in gateway.sources().reports() {
        match source.status {
            SourceStatus::Ready => {
                note(&format!("  source {}: {}", source.name, counted(source.tools, "tool")));
            }
            SourceStatus::Connecting => note(&format!("  source {}: still connecting", source.name)),
            SourceStatus::Failing(message) => note(&format!("  source {}: {}", source.name, message.public)),
        }
    }
    let catalog = gateway.catalog();
    for tool in catalog.unserved().iter().filter(|tool| tool.cause != UnservedCause::Hidden) {
        note(&format!("  not served: {} of {}: {}", tool.tool, tool.source, tool.reason));
    }
    for collision in catalog.every().filter_map(|entry| entry.collision()) {
        note(&format!("  warning: {collision}"));
    }
}

fn snippets(base: &str, tool: &Entry, callers: Callers, terminal: &Terminal) {
    note(&terminal.bold(match callers {
        Callers::Anybody => "Try:",
        Callers::WithKey => "Try, after export KEY=…:",
    }));
    for served in served() {
        if let Some(line) = (served.try_it)(base, tool) {
            let line = if callers == Callers::WithKey { with_key(&line) } else { line };
            note(&format!("  {:<9} {line}", served.name));
        }
    }
    note(&terminal.bold("For an MCP client:"));
    let mut server = json!({ "type": "http", "url": format!("{base}/mcp") });
    if callers == Callers::WithKey {
        server["headers"] = json!({ "Authorization": "Bearer $KEY" });
    }
    note(&format!("  {}", json!({ "mcpServers": { "toolmux": server } })));
    note(&terminal.bold("For an OpenTool client, the base URL:"));
    note(&format!("  {base}"));
    note(&terminal.bold("For Python, after `pip install oxp`:"));
    note(&python(base, tool, callers));
}

/// A line for a shell whose calls of `curl` show the key: the first word, and those in `$(…)`.
fn with_key(line: &str) -> String {
    const CURL: &str = "curl -H \"Authorization: Bearer $KEY\" ";
    let line = line.replace("$(curl ", &format!("$({CURL}"));
    line.strip_prefix("curl ").map_or_else(|| line.clone(), |rest| format!("{CURL}{rest}"))
}

/// Five lines with the public package of OXP.
fn python(base: &str, tool: &Entry, callers: Callers) -> String {
    let (id, input) =
        (json!(tool.id.to_string()), python_literal(&example_arguments(tool.tool.input.value())));
    let (import, token) = match callers {
        Callers::Anybody => ("oxp", "\"none\""),
        Callers::WithKey => ("os, oxp", "os.environ[\"KEY\"]"),
    };
    format!(
        "  import {import}
  client = oxp.Oxp(base_url=\"{base}\", bearer_token={token})
  print([tool.id for tool in client.tools.list().items])
  answer = client.tools.call(request={{\"tool_id\": {id}, \"input\": {input}}})
  print(answer.result)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curl_of_a_line_shows_the_key() {
        let key = "-H \"Authorization: Bearer $KEY\"";
        for (line, expect) in [
            ("curl http://h/tools", format!("curl {key} http://h/tools")),
            (
                "curl -N http://h/$(curl -s http://h)",
                format!("curl {key} -N http://h/$(curl {key} -s http://h)"),
            ),
            ("curl http://h -d 'curl x'", format!("curl {key} http://h -d 'curl x'")),
        ] {
            assert_eq!(with_key(line), expect);
        }
    }

    #[test]
    fn who_listens_everywhere_says_so_with_an_address_that_others_can_use() {
        let address = "0.0.0.0:9627".parse().expect("an address");
        let every = "  listening on 0.0.0.0:9627: every address of this machine";
        for scheme in ["http", "https"] {
            let line = listens_everywhere(scheme, address, "192.0.2.7".parse().ok());
            assert_eq!(line, format!("{every}, such as {scheme}://192.0.2.7:9627"));
        }
        assert_eq!(listens_everywhere("http", address, None), every);
    }
}
