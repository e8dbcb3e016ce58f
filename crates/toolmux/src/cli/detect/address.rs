//! What answers at an address: each protocol asks in its own way, and the first that hears tools names it.

use serde_json::json;
use tokio::task::JoinSet;
use toolmux_core::message::Message;
use toolmux_core::ports::source::Listing;

use super::{Found, name, one, prove, source};
use crate::cli::failure::Failure;
use crate::config::SourceConfig;

/// A kind of server and the addresses it has.
struct Candidate {
    kind: &'static str,
    what: &'static str,
    url: String,
}

/// Asks an address in the words of every protocol it may speak.
pub(super) async fn probe(url: &str) -> Result<Found, Failure> {
    let candidates = candidates(url);
    let mut asked = JoinSet::new();
    for (place, candidate) in candidates.iter().enumerate() {
        let source = of(candidate);
        asked.spawn(async move { Ok((place, prove(&source).await?)) });
    }
    let mut answers = asked.join_all().await.into_iter().collect::<Result<Vec<_>, Failure>>()?;
    answers.sort_by_key(|(place, _)| *place);
    let found = answers.iter().find(|(_, answer)| answer.is_ok());
    if let Some((place, _)) = found {
        let candidate = &candidates[*place];
        return Ok(one(url.to_owned(), candidate.what.to_owned(), of(candidate)));
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

fn of(candidate: &Candidate) -> SourceConfig {
    let name = name::of_address(&candidate.url, candidate.kind);
    source(&name, candidate.kind, json!({ "url": candidate.url }))
}

/// An address that ends as those of one protocol do is of that protocol; any other is asked in all ways, the
/// one that keeps most of a tool first.
fn candidates(url: &str) -> Vec<Candidate> {
    let base = url.trim_end_matches('/');
    let mcp = |url: &str| Candidate { kind: "mcp", what: "an MCP server", url: url.to_owned() };
    let opentool =
        |url: &str| Candidate { kind: "opentool", what: "an OpenTool server", url: url.to_owned() };
    let oxp = |url: &str| Candidate { kind: "oxp", what: "an OXP server", url: url.to_owned() };
    let ats = |url: &str| Candidate { kind: "ats", what: "an ATS server", url: url.to_owned() };
    let ends = |ending: &str| base.strip_suffix(ending);
    match (ends("/opentool"), ends("/tools"), ends("/get_tool")) {
        (Some(base), _, _) => vec![opentool(base)],
        (_, Some(base), _) => vec![oxp(base)],
        (_, _, Some(base)) => vec![ats(base)],
        _ if base.ends_with("/mcp") || base.ends_with("/sse") => vec![mcp(url)],
        _ => vec![oxp(base), mcp(&format!("{base}/mcp")), mcp(url), opentool(base), ats(base)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expect: &[(&str, &str)]) {
        let found = candidates(url);
        let found: Vec<_> = found.iter().map(|each| (each.kind, each.url.as_str())).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn an_ending_that_is_known_is_believed() {
        check("http://h/mcp", &[("mcp", "http://h/mcp")]);
        check("http://h/opentool/", &[("opentool", "http://h")]);
        check("http://h/tools", &[("oxp", "http://h")]);
        check("http://h/get_tool", &[("ats", "http://h")]);
    }

    #[test]
    fn any_other_address_is_asked_in_every_way() {
        let every = [("oxp", "http://h"), ("mcp", "http://h/mcp"), ("mcp", "http://h/")];
        let every = [&every[..], &[("opentool", "http://h"), ("ats", "http://h")]].concat();
        check("http://h/", &every);
    }
}
