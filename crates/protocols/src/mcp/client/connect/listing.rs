//! Reading whole lists, page by page.

use http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolmux_core::duty_cycle::DutyCycle;
use toolmux_core::json_text::{RawJson, to_raw};
use toolmux_core::message::Message;
use toolmux_core::ports::source::Listing;
use toolmux_core::progress::Progress;
use toolmux_core::tool::Passthrough;

use super::connection::Connection;
use crate::mcp::MCP;
use crate::mcp::client::decode;
use crate::mcp::client::transport::{Broken, Following, OutgoingParams, UpstreamRequest};
use crate::mcp::members::Members;
use crate::mcp::prompts_and_resources::PromptsAndResources;

/// How many pages one list may have.
const MOST_PAGES: usize = 1_000;
/// How many items one list may have.
const MOST_ITEMS: usize = 100_000;

/// From how many items on a list takes long enough to read to delay others.
const LARGE: usize = 500;
/// The same for the bytes of one page.
const LARGE_BYTES: usize = 256 << 10;

/// Everything a server has: its tools, and what it offers besides them, which is left out where each user has a token
/// of its own: see [`prompts_and_resources`].
pub(in crate::mcp) async fn everything(
    connection: &Connection,
    credentials: Option<&HeaderMap>,
) -> Result<(Listing, Passthrough), Broken> {
    let items = all(connection, credentials, "tools/list", "tools").await?;
    let listing = if items.len() < LARGE { read(&items) } else { blocking(move || read(&items)).await? };
    let offered = if connection.is_protected() {
        written(connection, &Lists::nothing(connection))
    } else {
        written(connection, &Lists::read(connection, None).await?)
    };
    Ok((listing, offered))
}

/// What stands besides tools for the owner of these credentials.
pub(in crate::mcp) async fn prompts_and_resources(
    connection: &Connection,
    credentials: &HeaderMap,
) -> Result<Passthrough, Broken> {
    Ok(written(connection, &Lists::read(connection, Some(credentials)).await?))
}

fn read(items: &[RawJson]) -> Listing {
    let (mut listing, mut duty_cycle) = (Listing::default(), DutyCycle::default());
    for item in items {
        match decode::tool(item) {
            Ok(tool) => listing.tools.push(tool),
            Err(unusable) => listing.unusable.push(unusable),
        }
        if items.len() >= LARGE {
            duty_cycle.pause();
        }
    }
    listing
}

/// Does what takes long off the threads that answer others.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Broken> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Broken::Lost(Message::public("The list cannot be read").caused_by(&error)))
}

/// Prompts, resources and templates; absent means that the server has none.
struct Lists {
    prompts: Option<Vec<RawJson>>,
    resources: Option<Vec<RawJson>>,
    templates: Option<Vec<RawJson>>,
}

impl Lists {
    /// What is there, without what is in it.
    fn nothing(connection: &Connection) -> Self {
        let empty = |capability: &str| has(connection, capability).then(Vec::new);
        Lists { prompts: empty("prompts"), resources: empty("resources"), templates: empty("resources") }
    }

    /// A server that cannot list what it claims to have still has its tools.
    async fn read(connection: &Connection, credentials: Option<&HeaderMap>) -> Result<Self, Broken> {
        let list = async |capability, method, member| {
            if !has(connection, capability) {
                return Ok(None);
            }
            match all(connection, credentials, method, member).await {
                Ok(items) => Ok(Some(items)),
                Err(unauthorized @ Broken::Unauthorized(_)) if credentials.is_some() => Err(unauthorized),
                Err(_) => Ok(None),
            }
        };
        Ok(Lists {
            prompts: list("prompts", "prompts/list", "prompts").await?,
            resources: list("resources", "resources/list", "resources").await?,
            templates: list("resources", "resources/templates/list", "resourceTemplates").await?,
        })
    }
}

fn has(connection: &Connection, capability: &str) -> bool {
    connection.greeting.capabilities.get(capability).is_some()
}

fn written(connection: &Connection, lists: &Lists) -> Passthrough {
    let instructions =
        connection.greeting.instructions.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let Lists { prompts, resources, templates } = lists;
    if prompts.is_none() && resources.is_none() && templates.is_none() && instructions.is_none() {
        return Passthrough::default();
    }
    let offered = PromptsAndResources {
        prompts: lent(prompts.as_ref()),
        resources: lent(resources.as_ref()),
        templates: lent(templates.as_ref()),
        instructions: instructions.map(Into::into),
        completions: has(connection, "completions"),
        subscriptions: connection.greeting.capabilities["resources"]["subscribe"] == Value::Bool(true),
        // Lists that are not in here may have changed all the same.
        changes: if connection.is_protected() { connection.list_changes() } else { 0 },
    };
    Passthrough::of(MCP, to_raw(&offered).expect("a listing is writable"))
}

/// All items of a list, which is the member of what a method answers.
async fn all(
    connection: &Connection,
    credentials: Option<&HeaderMap>,
    method: &str,
    member: &str,
) -> Result<Vec<RawJson>, Broken> {
    let progress = Progress::unheard();
    let following = Following::ours(&progress);
    let (mut items, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..MOST_PAGES {
        let id = connection.channel.next_id();
        let mut params = OutgoingParams::default();
        if let Some(cursor) = &cursor {
            params.put("cursor", json!(cursor).to_string());
        }
        let params = params.text(connection.greeting.revision, id, &following);
        let request = UpstreamRequest { id, method, params, name: None, headers: Vec::new(), credentials };
        let result = connection.channel.request(request, &following).await?.map_err(|error| {
            let text = format!("The server does not answer `{method}`");
            Broken::Lost(Message::public(text).developer(error.get()))
        })?;
        let (page, next_cursor) = if result.get().len() < LARGE_BYTES {
            page(&result, member)
        } else {
            let member = member.to_owned();
            blocking(move || page(&result, &member)).await?
        };
        items.extend(page);
        // A server that gives the same cursor again would keep us for ever.
        if next_cursor.is_none() || next_cursor == cursor || items.len() > MOST_ITEMS {
            break;
        }
        cursor = next_cursor;
    }
    Ok(items)
}

/// The items of one page, and where the next one begins.
fn page(result: &RawValue, member: &str) -> (Vec<RawJson>, Option<String>) {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Page {
        next_cursor: Option<String>,
    }
    let members = Members::read_or_empty(Some(result));
    let items =
        members.get(member).and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default();
    let Page { next_cursor } = serde_json::from_str(result.get()).unwrap_or_default();
    (items, next_cursor)
}

fn lent(items: Option<&Vec<RawJson>>) -> Option<Vec<&RawValue>> {
    items.map(|items| items.iter().map(|item| &**item).collect())
}
