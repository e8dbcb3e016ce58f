//! What configuration says of sources and their tools, swapped whole on reload.

use std::time::Duration;

use serde_json::{Map, Value};

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
    /// Whether nobody is shown it or may call it.
    pub hidden: Option<bool>,
    /// The name that it is served by, in the place of the one its source gives it. For one tool, never for a pattern.
    pub name: Option<String>,
    /// What it does, in other words than those of its source.
    pub description: Option<String>,
    /// Arguments that are the same in every call: no caller sees them or may give them.
    pub arguments: Map<String, Value>,
}

impl ToolSettings {
    /// These settings, with `others` where these say nothing.
    fn or(mut self, others: &ToolSettings) -> ToolSettings {
        for (name, value) in &others.arguments {
            self.arguments.entry(name.as_str()).or_insert_with(|| value.clone());
        }
        ToolSettings {
            timeout: self.timeout.or(others.timeout),
            concurrency: self.concurrency.or(others.concurrency),
            requires: self.requires.or_else(|| others.requires.clone()),
            deliver: if self.deliver.is_empty() { others.deliver.clone() } else { self.deliver },
            hints: others.hints.overridden_by(self.hints),
            hidden: self.hidden.or(others.hidden),
            name: self.name.or_else(|| others.name.clone()),
            description: self.description.or_else(|| others.description.clone()),
            arguments: self.arguments,
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
    /// What stands under the name of a tool, and what patterns say in addition.
    pub(super) fn of_tool(&self, id: &ToolId, own: &str) -> ToolSettings {
        self.fitting(id, own).map(|(_, settings)| settings).fold(ToolSettings::default(), ToolSettings::or)
    }

    /// The pattern that hides a tool, if one does.
    pub(super) fn hidden_by(&self, id: &ToolId, own: &str) -> Option<&Pattern> {
        let mut said =
            self.fitting(id, own).filter_map(|(pattern, settings)| Some((pattern, settings.hidden?)));
        said.next().filter(|(_, hidden)| *hidden).map(|(pattern, _)| pattern)
    }

    /// The settings that a tool has, those of its own name first.
    fn fitting(&self, id: &ToolId, own: &str) -> impl Iterator<Item = &(Pattern, ToolSettings)> {
        let fits = move |exact: bool| {
            move |(pattern, _): &&(Pattern, ToolSettings)| {
                pattern.is_exact() == exact && pattern.matches(id, own)
            }
        };
        self.tools.iter().filter(fits(true)).chain(self.tools.iter().filter(fits(false)))
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
