//! One snapshot: which tool has which name, and who may call it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use super::entry::{Entry, SourceTools, Unserved, UnservedCause};
use crate::call::Caller;
use crate::names::{ToolRef, plain_name};
use crate::sources::Naming;
use crate::toolset::Toolset;

/// From how many tools on a list of them takes long enough to delay others.
const LARGE: usize = 1_000;

/// The longest name that is looked for among aliases: what that costs grows faster than the name.
const LONGEST_ALIAS: usize = 256;

/// What is prepared, and for which toolsets.
type PreparedKey = (&'static str, [Option<Arc<str>>; 2]);

/// One snapshot of every tool served.
#[derive(Debug, Default)]
pub struct Catalog {
    entries: Vec<Arc<Entry>>,
    newest: Vec<usize>,
    by_flat: HashMap<Box<str>, usize>,
    by_id: HashMap<Box<str>, HashMap<Box<str>, Vec<usize>>>,
    toolsets: HashMap<Arc<str>, Vec<bool>>,
    unserved: Vec<Unserved>,
    prepared: RwLock<HashMap<PreparedKey, Bytes>>,
}

impl Catalog {
    /// Puts the tools of all sources, in the order of configuration, under their names. Whoever held a name
    /// in an earlier snapshot keeps it as long as it has the tool.
    pub(crate) fn build(sources: &[&SourceTools], toolsets: &[Toolset], before: &Catalog) -> Self {
        let mut catalog = Catalog::default();
        let entries = sources.iter().flat_map(|source| &source.entries);
        let present: HashSet<_> = entries.map(|entry| entry.whose()).collect();
        for source in sources {
            catalog.unserved.extend(source.unserved.iter().cloned());
            for entry in &source.entries {
                let rival = before
                    .holder_of(entry)
                    .filter(|rival| rival.mount.name != entry.mount.name && present.contains(&rival.whose()));
                catalog.add(entry, rival);
            }
        }
        catalog.newest = catalog.find_newest();
        for toolset in toolsets {
            let holds = catalog.entries.iter().map(|e| toolset.holds(&e.id, &e.tool.name)).collect();
            catalog.toolsets.insert(toolset.name.as_str().into(), holds);
        }
        catalog
    }

    /// The tool a caller means, if there is one; whether it may call it is another question.
    pub fn find(&self, wanted: &ToolRef) -> Option<usize> {
        let versions = match &wanted.toolkit {
            Some(toolkit) => self.by_id.get(toolkit).and_then(|tools| tools.get(&wanted.tool)),
            None => match self.by_flat.get(&wanted.tool) {
                Some(&newest) if wanted.version.is_none() => return Some(newest),
                Some(&newest) => self.versions_of(newest),
                None => None,
            },
        };
        let versions = versions.or_else(|| self.versions_of(self.by_alias(wanted)?))?;
        match wanted.version {
            Some(version) => versions.iter().copied().find(|&i| self.entries[i].id.version == version),
            None => versions.last().copied(),
        }
    }

    fn versions_of(&self, place: usize) -> Option<&Vec<usize>> {
        let id = &self.entries[place].id;
        self.by_id.get(&id.toolkit)?.get(&id.tool)
    }

    /// A tool by another of its names: `Every.get-sum`, `Every.get_sum`, `Every_get-sum` and `Every_get_sum` are one
    /// tool, over every protocol. Looked at only for a name that is nobody's id or flat name, so that no alias hides a
    /// tool.
    fn by_alias(&self, wanted: &ToolRef) -> Option<usize> {
        if wanted.tool.len() > LONGEST_ALIAS {
            return None;
        }
        let in_toolkit = |toolkit: &str, name: &str| {
            let tools = self.by_id.get(toolkit)?;
            let newest = |versions: &Vec<usize>| versions.last().copied();
            let own = |place: &usize| {
                let entry = &self.entries[*place];
                !entry.renamed && *entry.tool.name == *name
            };
            let by_own = || tools.values().filter_map(newest).find(own);
            let by_plain = || tools.get(plain_name(name).as_str()).and_then(newest);
            tools.get(name).and_then(newest).or_else(by_own).or_else(by_plain)
        };
        if let Some(toolkit) = &wanted.toolkit {
            return in_toolkit(toolkit, &wanted.tool);
        }
        if let Some((toolkit, name)) = wanted.tool.split_once('.') {
            return in_toolkit(toolkit, name);
        }
        // Of every place where the toolkit could end.
        let mut ends = wanted.tool.match_indices('_');
        ends.find_map(|(end, _)| in_toolkit(&wanted.tool[..end], &wanted.tool[end + 1..]))
    }

    /// All tools, in the order of the configuration.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.iter()
    }

    /// The entry at a place that [`Catalog::find`] gave.
    pub fn entry(&self, index: usize) -> &Arc<Entry> {
        &self.entries[index]
    }

    /// True when no toolset of the caller leaves the tool out.
    pub fn permits(&self, caller: &Caller, index: usize) -> bool {
        caller.toolsets().all(|name| self.toolsets.get(name).is_some_and(|holds| holds[index]))
    }

    /// True when a toolset of that name is configured.
    pub fn has_toolset(&self, name: &str) -> bool {
        self.toolsets.contains_key(name)
    }

    /// The toolsets that hold the tool at a place, in the order of their names.
    pub fn toolsets_of(&self, index: usize) -> Vec<&str> {
        let holding = self.toolsets.iter().filter(|(_, holds)| holds.get(index) == Some(&true));
        let mut names: Vec<&str> = holding.map(|(name, _)| &**name).collect();
        names.sort_unstable();
        names
    }

    /// Every toolset and how many tools it holds, versions counted, in the order of their names.
    pub fn toolsets(&self) -> Vec<(&str, usize)> {
        let held = |holds: &Vec<bool>| holds.iter().filter(|held| **held).count();
        let mut sets: Vec<_> = self.toolsets.iter().map(|(name, holds)| (&**name, held(holds))).collect();
        sets.sort_unstable();
        sets
    }

    /// Every version of every tool, whoever may call it.
    pub fn every(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.iter()
    }

    /// Every version of every tool the caller may call, in the order of configuration.
    pub fn all<'a>(&'a self, caller: &'a Caller) -> impl Iterator<Item = &'a Arc<Entry>> {
        self.entries
            .iter()
            .enumerate()
            .filter(|(index, _)| self.permits(caller, *index))
            .map(|(_, entry)| entry)
    }

    /// The newest version of every tool the caller may call.
    pub fn newest<'a>(&'a self, caller: &'a Caller) -> impl Iterator<Item = &'a Arc<Entry>> {
        self.newest.iter().filter(|index| self.permits(caller, **index)).map(|index| &self.entries[*index])
    }

    /// The newest version of every tool of a toolset that the caller may call.
    pub fn newest_in<'a>(
        &'a self,
        toolset: &str,
        caller: &'a Caller,
    ) -> impl Iterator<Item = &'a Arc<Entry>> + use<'a> {
        let holds = self.toolsets.get(toolset).map_or(&[][..], Vec::as_slice);
        let both = move |index: &&usize| holds.get(**index) == Some(&true) && self.permits(caller, **index);
        self.newest.iter().filter(both).map(|index| &self.entries[*index])
    }

    /// What is known but not served.
    pub fn unserved(&self) -> &[Unserved] {
        &self.unserved
    }

    /// How many tools are served, versions counted.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there is nothing to call.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes made once per snapshot and set of toolsets: the lists that agents load.
    pub fn prepared(&self, kind: &'static str, caller: &Caller, make: impl FnOnce() -> Bytes) -> Bytes {
        let key = (kind, caller.toolsets.clone());
        let known = self.prepared.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            let bytes = if self.len() < LARGE { make() } else { off_the_worker(make) };
            self.prepared.write().unwrap_or_else(PoisonError::into_inner).insert(key, bytes.clone());
            bytes
        })
    }

    /// Who has the name that this tool wants: another tool of the same flat name, or the same version.
    fn holder_of(&self, entry: &Entry) -> Option<&Arc<Entry>> {
        let is_other =
            |other: &&Arc<Entry>| (&other.id.toolkit, &other.id.tool) != (&entry.id.toolkit, &entry.id.tool);
        let flat = self.by_flat.get(&entry.flat).map(|&place| &self.entries[place]).filter(is_other);
        flat.or_else(|| {
            let versions = self.by_id.get(&entry.id.toolkit)?.get(&entry.id.tool)?;
            let mut versions = versions.iter().map(|&place| &self.entries[place]);
            versions.find(|other| other.id.version == entry.id.version)
        })
    }

    fn add(&mut self, entry: &Arc<Entry>, rival: Option<&Arc<Entry>>) {
        if let Some(holder) = self.holder_of(entry).or(rival) {
            let reason = collision(entry, holder);
            self.unserved.push(Unserved {
                source: entry.mount.name.clone(),
                tool: entry.tool.name.to_string(),
                reason,
                cause: UnservedCause::Collision,
            });
            return;
        }
        let index = self.entries.len();
        self.entries.push(Arc::clone(entry));
        let tools = self.by_id.entry(entry.id.toolkit.clone()).or_default();
        let versions = tools.entry(entry.id.tool.clone()).or_default();
        versions.push(index);
        versions.sort_by_key(|&i| self.entries[i].id.version);
        let newest = *versions.last().expect("just pushed");
        self.by_flat.insert(entry.flat.clone(), newest);
    }

    fn find_newest(&self) -> Vec<usize> {
        let mut newest: Vec<usize> = self
            .by_id
            .values()
            .flat_map(HashMap::values)
            .filter_map(|versions| versions.last().copied())
            .collect();
        newest.sort_unstable();
        newest
    }
}

/// Does long work where tokio runs other tasks meanwhile, if it can.
fn off_the_worker<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}

fn collision(entry: &Entry, holder: &Entry) -> String {
    let bare = [entry, holder].iter().any(|each| each.mount.naming == Naming::Bare);
    let remedy = if bare {
        "leave `names = \"bare\"` out of one of the sources"
    } else {
        "give one of the sources another `toolkit`"
    };
    format!(
        "the name `{}` is taken by tool `{}` of source `{}`; {remedy}",
        entry.flat, holder.tool.name, holder.mount.name
    )
}
