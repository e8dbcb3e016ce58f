//! What a source lists, as entries of the catalogue: names, settings, limits and compiled schemas. A tool that cannot be
//! served costs only itself.

use std::sync::{Arc, OnceLock};

use super::mount::Mount;
use super::rules::SourceRules;
use super::shaping::{NamedTool, fix};
use crate::catalog::{Entry, SourceTools, Unserved, UnservedCause};
use crate::delivery::hide;
use crate::duty_cycle::DutyCycle;
use crate::ports::source::Listing;
use crate::schema_repair::Repaired;
use crate::tool::Tool;

/// How many tools of one list are logged one by one.
const MOST_LOGGED: usize = 20;

impl Mount {
    /// What the source lists, as entries. It may take long: `duty_cycle` pauses between tools.
    pub(super) fn entries(
        self: &Arc<Self>,
        listing: &Listing,
        rules: &SourceRules,
        mut duty_cycle: Option<DutyCycle>,
    ) -> SourceTools {
        let mut entries = Vec::with_capacity(listing.tools.len());
        let mut unserved: Vec<Unserved> =
            listing.unusable.iter().map(|(tool, reason)| self.unserved(tool, reason)).collect();
        for named in self.named(listing, rules, &mut unserved) {
            let own = Arc::clone(&named.tool.name);
            match self.entry(named, rules) {
                Ok(entry) => entries.push(Arc::new(entry)),
                Err(reason) => unserved.push(self.unserved(&own, &reason)),
            }
            if let Some(duty_cycle) = &mut duty_cycle {
                duty_cycle.pause();
            }
        }
        self.tools.keep_only(entries.iter().map(|entry: &Arc<Entry>| &entry.id));
        SourceTools { entries, unserved }
    }

    fn entry(self: &Arc<Self>, named: NamedTool<'_>, rules: &SourceRules) -> Result<Entry, String> {
        let NamedTool { tool, id, flat, collides_with, own } = named;
        let (allowlist, hidden) = (own.names(), hide(&own.deliver, &tool.input));
        let requires = match own.requires {
            Some(requires) => requires,
            None => tool.requires.chosen(&self.allowlist)?,
        };
        let concurrency = own.concurrency.unwrap_or(rules.limits.concurrency);
        let (gate, breaker) = self.tools.limits(&id, concurrency, rules.limits.queue);
        let Repaired { schema, validator, repairs } =
            self.tools.compiled(&id, &hidden).map_err(|error| error.to_string())?;
        let (fixed, input) = fix(own.arguments, schema);
        let redescribed = own.description.as_ref().is_some_and(|said| *said != tool.description);
        let description = own.description.unwrap_or_else(|| tool.description.clone());
        Ok(Entry {
            flat,
            collides_with,
            validator,
            repairs,
            reshaped: !input.is_same(&tool.input),
            renamed: own.name.is_some(),
            redescribed,
            fixed,
            requires,
            hints: tool.hints.overridden_by(own.hints),
            timeout: own.timeout.unwrap_or(rules.limits.call_timeout),
            allowlist,
            gate,
            breaker,
            mount: Arc::clone(self),
            receipt_names: OnceLock::new(),
            deliver: own.deliver,
            tool: Tool { description, input, ..tool.clone() },
            id,
        })
    }

    pub(super) fn unserved(&self, tool: &str, reason: &str) -> Unserved {
        Unserved {
            source: self.name.clone(),
            tool: tool.to_owned(),
            reason: reason.to_owned(),
            cause: UnservedCause::Unusable,
        }
    }

    /// Logs what an operator should know of a list: tools that are not served, that have a suffix, whose schema was
    /// repaired, or that are not given what they require. A list may have thousands, so that only the first of each are logged one by one.
    pub(super) fn log_listed(&self, SourceTools { entries, unserved }: &SourceTools) {
        // Collisions are logged with those between sources; what is hidden is meant to be.
        let unusable = || unserved.iter().filter(|tool| tool.cause == UnservedCause::Unusable);
        for tool in unusable().take(MOST_LOGGED) {
            tracing::warn!(source = self.name, tool = tool.tool, "tool is not served: {}", tool.reason);
        }
        let collisions = || entries.iter().filter_map(|entry| entry.collision());
        for collision in collisions().take(MOST_LOGGED) {
            tracing::warn!(source = self.name, "{collision}");
        }
        let repaired = || entries.iter().filter(|entry| !entry.repairs.is_empty());
        for entry in repaired().take(MOST_LOGGED) {
            let (tool, repairs) = (&*entry.tool.name, entry.repairs.join("; "));
            tracing::warn!(source = self.name, tool, "the input schema was repaired: {repairs}");
        }
        let withheld = || entries.iter().filter(|entry| !entry.withheld().is_empty());
        for entry in withheld().take(MOST_LOGGED) {
            let (tool, names) = (&*entry.tool.name, entry.withheld().join(", "));
            tracing::warn!(
                source = self.name,
                tool,
                "the tool requires what its source is not allowed to receive: {names}"
            );
        }
        let counts = [unusable().count(), collisions().count(), repaired().count(), withheld().count()];
        let more: usize = counts.iter().map(|count| count.saturating_sub(MOST_LOGGED)).sum();
        if more > 0 {
            tracing::warn!(
                source = self.name,
                "{more} more tools are not served, have a suffix or a repaired schema, or are not given what they require"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::BoxFuture;
    use crate::call::Call;
    use crate::outcome::Outcome;
    use crate::ports::source::{Source, SourceError};
    use crate::progress::Progress;
    use crate::schema::Schema;
    use crate::sources::Naming;

    struct Nothing;

    impl Source for Nothing {
        fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
            Box::pin(std::future::pending())
        }

        fn call<'a>(&'a self, _: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn gates_of_tools_that_are_gone_are_forgotten() {
        let mount = Arc::new(Mount::new("kit", "Kit", Naming::Prefixed, Arc::new(Nothing)));
        let entries = |names: &[String]| {
            let tool =
                |name: &String| Tool::new(name.as_str(), name, Schema::new(json!({ "type": "object" })));
            let listing = Listing::from(names.iter().map(tool).collect::<Vec<Tool>>());
            mount.entries(&listing, &SourceRules::default(), None).entries
        };
        let first = entries(&["stays".to_owned()]);
        for round in 0..50 {
            let now = entries(&["stays".to_owned(), format!("tool{round}")]);
            assert!(Arc::ptr_eq(&first[0].gate, &now[0].gate), "its limits hold across lists");
            assert_eq!(mount.tools.len(), 2);
        }
    }
}
