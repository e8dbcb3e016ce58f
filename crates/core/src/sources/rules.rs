//! What configuration says of sources and their tools, swapped whole on reload.

use std::time::Duration;

use crate::call::Caller;
use crate::delivery::{Delivery, GrantName};
use crate::limits::Limits;
use crate::names::{ToolId, plain_name};
use crate::requirements::{GrantAllowlist, Requirements};
use crate::tool::Hints;
use crate::toolset::{Pattern, Toolset};
use crate::version::Version;

/// What configuration says of one tool, over what its source says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolSettings {
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// How many calls run at a time.
    pub concurrency: Option<usize>,
    /// What a call must bring.
    pub requires: Option<Requirements>,
    /// How what it needs reaches it.
    pub deliver: Vec<Delivery>,
    /// How the tool behaves.
    pub hints: Hints,
}

impl ToolSettings {
    /// These settings, with `others` where these say nothing.
    fn or(self, others: &ToolSettings) -> ToolSettings {
        ToolSettings {
            timeout: self.timeout.or(others.timeout),
            concurrency: self.concurrency.or(others.concurrency),
            requires: self.requires.or_else(|| others.requires.clone()),
            deliver: if self.deliver.is_empty() { others.deliver.clone() } else { self.deliver },
            hints: others.hints.overridden_by(self.hints),
        }
    }

    /// The secrets and providers that these settings name.
    pub(super) fn names(&self) -> GrantAllowlist {
        let mut names = GrantAllowlist::default();
        if let Some(requires) = &self.requires {
            names.secrets.clone_from(&requires.secrets);
            names.providers = requires.authorization.iter().map(|needed| needed.id.clone()).collect();
        }
        for delivery in &self.deliver {
            match &delivery.grant {
                GrantName::Secret(id) => names.secrets.push(id.clone()),
                GrantName::Token(provider) => names.providers.push(provider.clone()),
                GrantName::User => {}
            }
        }
        names
    }
}

/// The part of the settings that decides which tools there are and under which limits.
#[derive(Debug, Default)]
pub(crate) struct SourceRules {
    pub(crate) limits: Limits,
    pub(crate) toolsets: Vec<Toolset>,
    /// An exact name wins over a pattern.
    pub(crate) tools: Vec<(Pattern, ToolSettings)>,
}

impl SourceRules {
    /// What stands under the name of a tool, and what patterns say beside that.
    pub(super) fn of_tool(&self, id: &ToolId, own: &str) -> ToolSettings {
        let fitting = |exact: bool| {
            let fits = move |(pattern, _): &&(Pattern, ToolSettings)| {
                pattern.is_exact() == exact && pattern.matches(id, own)
            };
            self.tools.iter().filter(fits).map(|(_, settings)| settings)
        };
        fitting(true).chain(fitting(false)).fold(ToolSettings::default(), ToolSettings::or)
    }

    /// True when no toolset of the caller leaves out `own` of `toolkit`: a prompt, a resource or whatever else a source
    /// offers that is not a tool. Tools are looked up in the catalogue.
    pub(crate) fn permits(&self, caller: &Caller, toolkit: &str, own: &str) -> bool {
        let id = ToolId { toolkit: toolkit.into(), tool: plain_name(own).into(), version: Version::FIRST };
        caller.toolsets().all(|name| {
            self.toolsets.iter().any(|toolset| *toolset.name == **name && toolset.holds(&id, own))
        })
    }
}
