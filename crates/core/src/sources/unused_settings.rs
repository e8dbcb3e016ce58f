//! Settings of tools that have no effect, most likely because of a slip.

use super::slots::{SourceStatus, Sources};
use crate::catalog::{Catalog, UnservedCause};
use crate::names::{ToolId, plain_name};
use crate::toolset::Pattern;
use crate::version::Version;

/// A setting of `[tools]` that has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnusedSetting {
    /// It matches no tool.
    Pattern(Pattern),
    /// No tool that it fits has the argument that it fixes.
    Argument(Pattern, String),
}

impl Sources {
    /// Every setting that has no effect on the tools there are. Nothing while a source has not listed its tools: they may
    /// be those that are meant.
    pub fn unused_settings(&self) -> Vec<UnusedSetting> {
        let (mut unused, rules, catalog) = (Vec::new(), self.rules(), self.catalog());
        if self.reports().iter().any(|source| source.status != SourceStatus::Ready) {
            return unused;
        }
        for (pattern, settings) in &rules.tools {
            let fitting = || catalog.every().filter(|entry| entry.fits(pattern));
            if fitting().next().is_none() && !self.fits_unserved(&catalog, pattern) {
                unused.push(UnusedSetting::Pattern(pattern.clone()));
                continue;
            }
            let is_used = |argument: &str| fitting().any(|entry| entry.fixed.contains_key(argument));
            let idle = settings.arguments.keys().filter(|argument| !is_used(argument));
            unused.extend(idle.map(|argument| UnusedSetting::Argument(pattern.clone(), argument.clone())));
        }
        unused
    }

    /// Whether a pattern means a tool that it hides itself, or that another tool keeps from being served.
    fn fits_unserved(&self, catalog: &Catalog, pattern: &Pattern) -> bool {
        let known = catalog.unserved().iter().filter(|tool| tool.cause != UnservedCause::Unusable);
        let mut known = known.filter_map(|tool| {
            let toolkit = self.find(&tool.source)?.toolkit.clone();
            let id = ToolId { toolkit, tool: plain_name(&tool.tool).into(), version: Version::FIRST };
            Some((id, &tool.tool))
        });
        known.any(|(id, own)| pattern.matches(&id, own))
    }
}
