//! `toolmux tools --why TOOL`: why a tool is served or not, by which source, and to whom.

use std::process::ExitCode;

use serde_json::{Value, json};
use toolmux_core::catalog::{Catalog, Entry};
use toolmux_core::gateway::{Gateway, TokenToolset};
use toolmux_core::names::{ToolRef, plain_name};
use toolmux_core::nearest::nearest;
use toolmux_core::sources::SourceStatus;

use super::failure::REFUSED;
use super::terminal::{Form, print_line};
use crate::config::Config;

/// How many names are offered for one that is not known.
const MOST_NEAR: usize = 3;

/// Says why; the exit code says whether the tool is served.
pub(super) fn explain(tool: &str, gateway: &Gateway, config: &Config, form: Form) -> ExitCode {
    let catalog = gateway.catalog();
    let (facts, code) = match catalog.find(&ToolRef::either(tool)).or_else(|| by_own_name(&catalog, tool)) {
        Some(place) => (served(catalog.entry(place), &catalog, config), ExitCode::SUCCESS),
        None => (unserved(tool, gateway, &catalog), ExitCode::from(REFUSED)),
    };
    if form == Form::Programs {
        let members = facts.into_iter().collect::<serde_json::Map<_, _>>();
        print_line(&format!("{:#}", Value::Object(members)));
    } else {
        for (name, fact) in facts {
            print_line(&format!("{:<9}  {}", name.replace('_', " "), words(&fact)));
        }
    }
    code
}

type Facts = Vec<(String, Value)>;

fn fact(name: &str, value: impl Into<Value>) -> (String, Value) {
    (name.to_owned(), value.into())
}

/// A tool may be asked for by the name that its source gives it.
fn by_own_name(catalog: &Catalog, tool: &str) -> Option<usize> {
    let entry = catalog.every().find(|entry| &*entry.tool.name == tool)?;
    catalog.find(&ToolRef::id(&entry.id.to_string()).ok()?)
}

fn served(entry: &Entry, catalog: &Catalog, config: &Config) -> Facts {
    let holds = |name: &str| {
        config.toolsets.iter().any(|set| set.name == name && set.holds(&entry.id, &entry.tool.name))
    };
    let toolsets: Vec<&str> =
        config.toolsets.iter().map(|set| set.name.as_str()).filter(|name| holds(name)).collect();
    let (may, may_not): (Vec<_>, Vec<_>) =
        config.keys.iter().partition(|key| key.toolset.as_deref().is_none_or(holds));
    let names =
        |keys: &[&toolmux_core::gateway::ApiKey]| keys.iter().map(|key| key.name.to_string()).collect();
    let (may, may_not): (Vec<String>, Vec<String>) = (names(&may), names(&may_not));
    let open = config.keys.is_empty() && config.jwt.is_none();
    let versions: Vec<String> = catalog
        .every()
        .filter(|other| (&other.id.toolkit, &other.id.tool) == (&entry.id.toolkit, &entry.id.tool))
        .map(|other| other.id.version.to_string())
        .collect();
    let mut facts = vec![
        fact("served", true),
        fact("id", entry.id.to_string()),
        fact("name", &*entry.flat),
        fact("source", entry.source()),
        fact("versions", versions),
        fact("toolsets", toolsets),
        fact("everybody", open),
        fact("keys", may),
        fact("not_keys", may_not),
    ];
    if let Some(jwt) = &config.jwt {
        let unnamed = match &jwt.toolset {
            TokenToolset::Nothing => false,
            TokenToolset::Everything => true,
            TokenToolset::Named(name) => holds(name),
        };
        let named = "those with one of the toolsets above in their claim `toolset`";
        let tokens = if unnamed { format!("{named}, and those without the claim") } else { named.to_owned() };
        facts.push(fact("tokens", tokens));
    }
    facts.extend(shaping(entry));
    if !entry.repairs.is_empty() {
        facts.push(fact("schema_repairs", entry.repairs.clone()));
    }
    if !entry.requires.is_empty() {
        facts.push(fact("needs", json!(entry.requires)));
        facts.push(fact("not_given", entry.withheld()));
    }
    facts
}

/// What configuration changed of a tool. Values of fixed arguments stay out: they may be secret.
fn shaping(entry: &Entry) -> Facts {
    let mut facts = Vec::new();
    if plain_name(&entry.tool.name) != *entry.id.tool && entry.collides_with.is_none() {
        facts.push(fact("renamed", format!("its source calls it {}", entry.tool.name)));
    }
    if entry.redescribed {
        facts.push(fact("described", "by the configuration"));
    }
    if !entry.fixed.is_empty() {
        facts.push(fact("fixed", entry.fixed.keys().cloned().collect::<Vec<String>>()));
    }
    facts
}

fn unserved(tool: &str, gateway: &Gateway, catalog: &Catalog) -> Facts {
    let wanted = ToolRef::either(tool);
    let is_meant = |own: &str| own == tool || plain_name(own) == *wanted.tool;
    let mut facts = vec![fact("served", false), fact("tool", tool)];
    if let Some(known) = catalog.unserved().iter().find(|known| is_meant(&known.tool)) {
        facts.push(fact("source", known.source.as_str()));
        facts.push(fact("reason", known.reason.as_str()));
        return facts;
    }
    let failing: Vec<String> = gateway
        .sources()
        .reports()
        .into_iter()
        .filter_map(|source| match source.status {
            SourceStatus::Ready => None,
            SourceStatus::Connecting => Some(format!("{} did not list its tools yet", source.name)),
            SourceStatus::Failing(message) => Some(format!("{}: {}", source.name, message.public)),
        })
        .collect();
    let other = catalog.find(&ToolRef { version: None, ..wanted.clone() });
    facts.push(match (other, failing.is_empty()) {
        (Some(place), _) => {
            let version = catalog.entry(place).id.version;
            fact("reason", format!("there is no such version; the newest is {version}"))
        }
        (None, true) => fact("reason", "no source has such a tool"),
        (None, false) => fact("reason", "no source that answers has such a tool"),
    });
    if !failing.is_empty() {
        facts.push(fact("silent", failing));
    }
    facts.push(fact("nearest", near(catalog, tool)));
    facts
}

fn near(catalog: &Catalog, tool: &str) -> Vec<String> {
    let flat = |entry: &Entry| entry.flat.to_string();
    let id = |entry: &Entry| format!("{}.{}", entry.id.toolkit, entry.id.tool);
    let mut names: Vec<String> =
        catalog.every().map(|entry| if tool.contains('.') { id(entry) } else { flat(entry) }).collect();
    names.dedup();
    let mut near = Vec::new();
    while let Some(name) = nearest(tool, names.iter().map(String::as_str)).map(str::to_owned) {
        names.retain(|other| *other != name);
        near.push(name);
        if near.len() == MOST_NEAR {
            break;
        }
    }
    near
}

fn words(fact: &Value) -> String {
    match fact {
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
