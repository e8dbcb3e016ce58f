//! Landlock: which files the library may open, and no TCP, signals or abstract sockets to the outside.
//! In force before any code of the library runs.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};

use crate::hello::{Degree, Profile, Sandbox};
use crate::load::{LibraryError, system_folders};

pub(super) const RULES: ABI = ABI::V6;

/// What the loader and nearly every library read.
const ALWAYS_READABLE: [&str; 5] =
    ["/etc/ld.so.cache", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"];

pub(crate) fn restrict_files(sandbox: &Sandbox, library: &Path) -> Result<Degree, LibraryError> {
    match sandbox.profile {
        Profile::Off => Ok(Degree::Not),
        Profile::Pure | Profile::Deny => {
            enforce(sandbox, library).map_err(|error| LibraryError::Sandbox(Box::new(error)))
        }
    }
}

fn enforce(sandbox: &Sandbox, library: &Path) -> Result<Degree, RulesetError> {
    // `AccessFs::from_read` includes the right to execute, which `dlopen` does not need.
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(RULES))?
        .handle_access(AccessNet::from_all(RULES))?
        .scope(Scope::from_all(RULES))?
        .create()?
        .add_rules(path_beneath_rules(readable(sandbox, library), reading))?
        .add_rules(path_beneath_rules(&sandbox.writable, writing()))?
        // Not to be undone: neither this process nor what it starts can leave it.
        .restrict_self()?;
    Ok(degree(&status.ruleset))
}

/// What may be done where writing is allowed. Not making devices, by which root reaches every disk.
pub(super) fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_all(RULES) & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock)
}

pub(super) fn degree(status: &RulesetStatus) -> Degree {
    match status {
        RulesetStatus::FullyEnforced => Degree::Fully,
        RulesetStatus::PartiallyEnforced => Degree::Partly,
        RulesetStatus::NotEnforced => Degree::Not,
    }
}

fn readable(sandbox: &Sandbox, library: &Path) -> Vec<PathBuf> {
    let mut paths = system_folders();
    paths.extend(ALWAYS_READABLE.iter().map(PathBuf::from));
    paths.push(library.to_owned());
    paths.extend_from_slice(&sandbox.readable);
    paths
}
