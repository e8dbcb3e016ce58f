//! The parameters of a list of calls.

use std::time::SystemTime;

use axum::extract::Query;
use http::Uri;
use toolmux_core::receipt::ReceiptFilter;

/// How many are listed when nothing is said.
const USUAL: usize = 100;
/// How many are listed at most.
pub const MOST_LISTED: usize = 10_000;

/// Which calls are wanted, and how.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CallsQuery {
    pub(crate) filter: ReceiptFilter,
    pub(crate) limit: usize,
    pub(crate) follow: bool,
}

impl Default for CallsQuery {
    fn default() -> Self {
        CallsQuery { filter: ReceiptFilter::default(), limit: USUAL, follow: false }
    }
}

impl CallsQuery {
    /// Reads the query of an address; words for what is wrong with it.
    pub(crate) fn read(uri: &Uri) -> Result<Self, String> {
        let parameters =
            Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(|error| error.to_string())?;
        CallsQuery::of_parameters(parameters.0)
    }

    /// The same of the parameters themselves.
    pub(crate) fn of_parameters(
        parameters: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, String> {
        let (mut filter, mut limit, mut follow) = (ReceiptFilter::default(), USUAL, false);
        for (name, value) in parameters {
            match name.as_str() {
                // A form sends fields that nobody filled in.
                "caller" | "tool" | "since" if value.is_empty() => {}
                "caller" => filter.caller = Some(value),
                "tool" => filter.tool = Some(value),
                "failed" => filter.failed = flag(&name, &value)?,
                "since" => filter.since = Some(since(&value)?),
                "limit" => {
                    let number = value.parse().ok().filter(|number| (1..=MOST_LISTED).contains(number));
                    limit =
                        number.ok_or_else(|| format!("`limit` must be a number from 1 to {MOST_LISTED}"))?;
                }
                "follow" => follow = flag(&name, &value)?,
                _ => {
                    return Err(format!(
                        "unknown parameter `{name}`: caller, tool, failed, since, limit, follow"
                    ));
                }
            }
        }
        Ok(CallsQuery { filter, limit, follow })
    }
}

fn flag(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "" | "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(format!("`{name}` must be true or false")),
    }
}

/// A time, or how long ago: `2026-11-18T04:30:00Z`, `1h`.
pub fn since(text: &str) -> Result<SystemTime, String> {
    let ago = humantime::parse_duration(text).ok().and_then(|ago| SystemTime::now().checked_sub(ago));
    ago.or_else(|| humantime::parse_rfc3339_weak(text).ok()).ok_or_else(|| {
        "`since` must be a time such as 2026-11-18T04:30:00Z, or how long ago, such as 1h".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expect: Result<(ReceiptFilter, usize, bool), &str>) {
        let uri: Uri = format!("/console/api/calls{query}").parse().expect("an address");
        match (CallsQuery::read(&uri), expect) {
            (Ok(CallsQuery { filter, limit, follow }), Ok(expect)) => {
                assert_eq!((filter, limit, follow), expect, "{query}");
            }
            (Err(what), Err(expect)) => assert!(what.contains(expect), "{query}: {what}"),
            (read, _) => panic!("{query}: {read:?}"),
        }
    }

    #[test]
    fn parameters_are_read_or_refused() {
        let filter = ReceiptFilter::default;
        check("", Ok((filter(), USUAL, false)));
        check("?follow", Ok((filter(), USUAL, true)));
        let tool = ReceiptFilter { tool: Some("Kit.*".into()), failed: true, ..filter() };
        check("?tool=Kit.%2A&failed=true&limit=5", Ok((tool, 5, false)));
        check("?limit=0", Err("from 1 to"));
        check("?since=yesterday", Err("how long ago"));
        check("?failed=maybe", Err("true or false"));
        check("?color=red", Err("unknown parameter `color`"));
    }
}
