//! What configuration makes of the tools of a source: which are hidden, what the others are called, and which of their
//! arguments are fixed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::mount::{Mount, Naming};
use super::rules::{SourceRules, ToolSettings};
use super::source_names::SourceNames;
use crate::catalog::{Unserved, UnservedCause};
use crate::delivery::without_parameters;
use crate::names::{ToolId, flat_name, plain_name};
use crate::ports::source::Listing;
use crate::schema::Schema;
use crate::tool::Tool;

/// A tool of a source under the names that it is served by.
pub(super) struct NamedTool<'a> {
    pub(super) tool: &'a Tool,
    pub(super) id: ToolId,
    pub(super) flat: Box<str>,
    pub(super) collides_with: Option<Arc<str>>,
    /// What configuration says of it.
    pub(super) own: ToolSettings,
}

impl Mount {
    /// The tools that are to be served. Settings are found by the names that tools would have without them, and those
    /// names do not depend on settings of other tools.
    pub(super) fn named<'a>(
        &self,
        listing: &'a Listing,
        rules: &SourceRules,
        unserved: &mut Vec<Unserved>,
    ) -> Vec<NamedTool<'a>> {
        let (mut names, mut listed) = (SourceNames::new(self.prefix()), HashSet::new());
        let mut tools = Vec::with_capacity(listing.tools.len());
        let is_on = |tool: &&Tool| !self.disabled_tools.iter().any(|name| **name == *tool.name);
        for tool in listing.tools.iter().filter(is_on) {
            if !listed.insert((&tool.name, tool.version)) {
                let reason = "the source lists it twice; the first one is served";
                unserved.push(self.unserved(&tool.name, reason));
                continue;
            }
            let Some(given) = names.give(&tool.name) else {
                let reason = "every name it could get is taken by another tool of the source";
                unserved.push(self.unserved(&tool.name, reason));
                continue;
            };
            let id =
                ToolId { toolkit: self.toolkit.clone(), tool: given.plain.into(), version: tool.version };
            if let Some(pattern) = rules.hidden_by(&id, &tool.name) {
                let reason = format!("[tools.\"{}\"] hides it", pattern.as_str());
                let cause = UnservedCause::Hidden;
                unserved.push(Unserved { cause, ..self.unserved(&tool.name, &reason) });
                continue;
            }
            let (own, collides_with) = (rules.of_tool(&id, &tool.name), given.collides_with);
            tools.push(NamedTool { tool, id, flat: given.flat.into(), collides_with, own });
        }
        if tools.iter().any(|named| named.own.name.is_some()) {
            self.rename(&mut tools, unserved);
        }
        tools
    }

    /// Gives tools the names that configuration has for them. One whose name another tool of the source has is not served:
    /// which of the two is meant is not ours to guess.
    fn rename(&self, tools: &mut Vec<NamedTool<'_>>, unserved: &mut Vec<Unserved>) {
        let (mut flat, mut plain) = (HashMap::new(), HashMap::new());
        for named in tools.iter().filter(|named| named.own.name.is_none()) {
            flat.insert(named.flat.to_string(), Arc::clone(&named.tool.name));
            plain.insert(named.id.tool.to_string(), Arc::clone(&named.tool.name));
        }
        tools.retain_mut(|named| {
            let Some(name) = &named.own.name else { return true };
            let (new_flat, new_plain) = (flat_name(self.prefix(), name), plain_name(name));
            let own = &named.tool.name;
            let taken = [flat.get(&new_flat), plain.get(&new_plain)].into_iter().flatten();
            if let Some(holder) = taken.into_iter().find(|holder| *holder != own) {
                let reason = format!(
                    "`name` of [tools.\"{}.{}\"] is `{name}`, which is the name of tool `{holder}` of the same \
                     source; give it another name, or hide or rename the other tool",
                    named.id.toolkit, named.id.tool
                );
                let cause = UnservedCause::Collision;
                unserved.push(Unserved { cause, ..self.unserved(own, &reason) });
                return false;
            }
            flat.insert(new_flat.clone(), Arc::clone(own));
            plain.insert(new_plain.clone(), Arc::clone(own));
            (named.flat, named.id.tool, named.collides_with) = (new_flat.into(), new_plain.into(), None);
            true
        });
    }

    /// What stands before the names of its tools where names are flat.
    fn prefix(&self) -> Option<&str> {
        (self.naming == Naming::Prefixed).then_some(&*self.toolkit)
    }
}

/// The arguments that are fixed, and the schema without them. One that the schema does not have is not among them: the
/// tool would not know it, and a pattern may name an argument that only some of its tools have.
pub(super) fn fix(mut arguments: Map<String, Value>, schema: Schema) -> (Map<String, Value>, Schema) {
    if arguments.is_empty() {
        return (arguments, schema);
    }
    let properties = schema.value().get("properties").and_then(Value::as_object);
    arguments.retain(|name, _| properties.is_some_and(|properties| properties.contains_key(name)));
    let seen = without_parameters(&schema, arguments.keys().map(String::as_str));
    (arguments, seen)
}
