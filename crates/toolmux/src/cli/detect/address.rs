//! What answers at an address: each kind of source that may asks in its own way, and the first that finds tools names it.

use serde_json::Value;
use tokio::task::JoinSet;
use toolmux_core::message::Message;
use toolmux_core::ports::source::Listing;
use toolmux_protocols::SOURCES;
use toolmux_protocols::registry::AddressTables;

use super::{Found, name, one, probe, source};
use crate::cli::failure::Failure;
use crate::config::SourceConfig;

/// A source that an address may stand for.
struct Candidate {
    kind: &'static str,
    what: &'static str,
    table: Value,
}

/// Asks an address in the words of every protocol it may speak.
pub(super) async fn found_at(url: &str) -> Result<Found, Failure> {
    let candidates = candidates(url);
    let mut asked = JoinSet::new();
    for (place, candidate) in candidates.iter().enumerate() {
        let source = of(url, candidate);
        asked.spawn(async move { Ok((place, probe(&source).await?)) });
    }
    let mut answers = asked.join_all().await.into_iter().collect::<Result<Vec<_>, Failure>>()?;
    answers.sort_by_key(|(place, _)| *place);
    let found = answers.iter().find(|(_, answer)| answer.is_ok());
    if let Some((place, _)) = found {
        let candidate = &candidates[*place];
        return Ok(one(url.to_owned(), candidate.what.to_owned(), of(url, candidate)));
    }
    let why = |(place, answer): &(usize, Result<Listing, Message>)| {
        let what = candidates[*place].what;
        answer.as_ref().err().map(|message| (what, message.public.clone()))
    };
    let told = reasons(answers.iter().filter_map(why).collect());
    Err(Failure::refused(anyhow::anyhow!("no tools were found at `{url}`: {told}")).hint(
        "is the server running? one that asks for a key needs a configuration: `toolmux init` shows how to give it",
    ))
}

/// One reason when all have the same, else what each protocol heard.
fn reasons(mut why: Vec<(&str, String)>) -> String {
    why.dedup();
    match &why[..] {
        [(_, first), others @ ..] if others.iter().all(|(_, other)| other == first) => first.clone(),
        all => {
            let lines: Vec<String> = all.iter().map(|(what, why)| format!("\n  as {what}: {why}")).collect();
            lines.concat()
        }
    }
}

fn of(url: &str, candidate: &Candidate) -> SourceConfig {
    source(&name::of_address(url, candidate.kind), candidate.kind, candidate.table.clone())
}

/// An address that ends as those of one kind do is of that kind; any other is asked in all ways, in the order in which
/// the kinds are registered.
fn candidates(url: &str) -> Vec<Candidate> {
    let (mut certain, mut possible) = (Vec::new(), Vec::new());
    for kind in SOURCES {
        let Some(hook) = &kind.detection.address else { continue };
        let candidate = |table: Value| Candidate { kind: kind.kind, what: hook.what, table };
        match (hook.tables)(url) {
            AddressTables::Certain(table) => certain.push(candidate(table)),
            AddressTables::Possible(tables) => possible.extend(tables.into_iter().map(candidate)),
        }
    }
    if certain.is_empty() { possible } else { certain }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expect: &[(&str, &str)]) {
        let found = candidates(url);
        let found: Vec<_> = found.iter().map(|each| (each.kind, address(&each.table))).collect();
        assert_eq!(found, expect);
    }

    fn address(table: &Value) -> &str {
        table.get("url").or(table.get("document")).and_then(Value::as_str).unwrap_or_default()
    }

    #[test]
    fn an_ending_that_is_known_is_believed() {
        check("http://h/v3/openapi.yaml", &[("openapi", "http://h/v3/openapi.yaml")]);
        check("http://h/mcp", &[("mcp", "http://h/mcp")]);
        check("http://h/opentool/", &[("opentool", "http://h")]);
        check("http://h/tools", &[("oxp", "http://h")]);
        check("http://h/get_tool", &[("ats", "http://h")]);
    }

    #[test]
    fn any_other_address_is_asked_in_every_way() {
        let every = [("oxp", "http://h"), ("mcp", "http://h/mcp"), ("mcp", "http://h/")];
        let every = [&every[..], &[("opentool", "http://h"), ("ats", "http://h")]].concat();
        let every = [&every[..], &[("openapi", "http://h/openapi.json"), ("openapi", "http://h/")]].concat();
        let every = [&every[..], &[("openrpc", "http://h/")]].concat();
        check("http://h/", &every);
    }
}
