//! A gateway for a command that runs tools itself. A source that cannot be opened is shown where it stands in the file.

use std::path::Path;
use std::sync::Arc;

use toolmux_core::memory::MemoryStore;
use toolmux_core::ports::store::Store;

use super::failure::Failure;
use crate::assembly::Assembly;
use crate::config::Config;

/// A gateway that keeps its records in memory; `file` is where the configuration is from.
pub(super) fn assembled(config: &Config, file: Option<&Path>) -> Result<Assembly, Failure> {
    assembled_with(config, Arc::new(MemoryStore::default()), file)
}

/// The same with a store.
pub(super) fn assembled_with(
    config: &Config,
    store: Arc<dyn Store>,
    file: Option<&Path>,
) -> Result<Assembly, Failure> {
    Assembly::new(config, store).map_err(|error| {
        let fault = file.and_then(|file| config.opening_fault(file));
        fault.map_or_else(|| Failure::from(error), Failure::from)
    })
}
