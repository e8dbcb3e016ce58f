//! From a file or a text to a [`Config`], or to every fault that keeps it from being one.

use std::cell::RefCell;
use std::path::Path;

use toolmux_core::secret::Secret;
use toolmux_protocols::registry::{OpenError, SecretSetting};

use super::fault::ConfigFault;
use super::keys::{Spans, source_misfits};
use super::reading::{Reading, read};
use super::resolve::{Reader, Variables};
use super::{Config, SourceConfig, secrets};

/// What was made of a text, however faulty it is.
pub(super) struct Loaded {
    /// Without the parts that have a fault; absent for a text that is not TOML.
    pub(super) config: Option<(Config, Spans)>,
    pub(super) faults: Vec<ConfigFault>,
    /// Variables of imported files that are not set, where that is no fault.
    pub(super) warnings: Vec<ConfigFault>,
}

impl Config {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Config, ConfigFault> {
        let text = text_of(path)?;
        Config::read(&text, &path.display().to_string(), folder_of(path))
    }

    /// Reads a text; `name` is what faults call it. When it has a fault, the others are told with it, also those of
    /// sources that cannot be opened.
    pub fn read(text: &str, name: &str, folder: &Path) -> Result<Config, ConfigFault> {
        let Loaded { config, mut faults, .. } = load((text, name), folder, Variables::Required);
        match config {
            Some((config, _)) if faults.is_empty() => Ok(config),
            config => {
                let sources = config.iter().flat_map(|(config, _)| &config.sources);
                faults.extend(
                    sources.flat_map(|source| opening_faults(source, (text, name), Variables::Required)),
                );
                Err(ConfigFault::joined(faults)
                    .unwrap_or_else(|| ConfigFault::at(name, text, None, "it cannot be read".to_owned())))
            }
        }
    }

    /// What holds where no file says otherwise.
    pub fn of_sources(sources: Vec<SourceConfig>) -> Result<Config, ConfigFault> {
        Ok(Config { sources, ..Config::read("", "", Path::new("."))? })
    }

    /// Every source that cannot be made of its table, shown where it stands in the file.
    pub fn opening_fault(&self, path: &Path) -> Option<ConfigFault> {
        let (text, name) = (std::fs::read_to_string(path).unwrap_or_default(), path.display().to_string());
        let faults = self
            .sources
            .iter()
            .flat_map(|source| opening_faults(source, (&text, &name), Variables::Required));
        ConfigFault::joined(faults.collect())
    }
}

impl ConfigFault {
    /// The same at a key of a file, or at its beginning where it has no such key.
    pub(crate) fn at_key(self, path: &Path, key: &str) -> Self {
        let (text, name) = (std::fs::read_to_string(path).unwrap_or_default(), path.display().to_string());
        let span = read(&text).ok().and_then(|reading| reading.spans.of(&[key]));
        self.moved_to((&text, &name), Some(span.unwrap_or(0..0)))
    }
}

/// The text of a configuration.
pub(super) fn text_of(path: &Path) -> Result<String, ConfigFault> {
    std::fs::read_to_string(path).map_err(|error| ConfigFault::unread(path, &error))
}

/// The folder that paths in a configuration are relative to.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Reads as much of a text as can be read.
pub(super) fn load((text, name): (&str, &str), folder: &Path, variables: Variables) -> Loaded {
    let Reading { raw, spans, faults } = match read(text) {
        Ok(reading) => reading,
        Err(faults) => {
            let faults = faults.into_iter().map(|found| found.within(name, text)).collect();
            return Loaded { config: None, faults, warnings: Vec::new() };
        }
    };
    secrets::know_passwords(text);
    let faults = faults.into_iter().map(|found| found.within(name, text)).collect();
    let (faults, warnings) = (RefCell::new(faults), RefCell::default());
    let reader = Reader { text, name, folder, spans, variables, faults, warnings };
    let config = reader.resolve(raw);
    let Reader { spans, faults, warnings, .. } = reader;
    Loaded { config: Some((config, spans)), faults: faults.into_inner(), warnings: warnings.into_inner() }
}

/// Why a source cannot be made of its table; nothing when it can.
pub(super) fn opening_faults(
    source: &SourceConfig,
    (text, name): (&str, &str),
    variables: Variables,
) -> Vec<ConfigFault> {
    let secrets = |setting: &SecretSetting| -> Result<Secret, String> {
        match variables {
            Variables::MayBeUnset => secrets::read_if_set(setting, &source.folder),
            Variables::Required => secrets::read(setting, &source.folder),
        }
    };
    let Err(error) = source.open_with(&secrets) else { return Vec::new() };
    let misfits = if error.is_misfit() { source_misfits(text, &source.name) } else { Vec::new() };
    if !misfits.is_empty() {
        return misfits.into_iter().map(|found| found.within(name, text)).collect();
    }
    vec![unopened(source, (text, name), error)]
}

fn unopened(source: &SourceConfig, (text, name): (&str, &str), error: OpenError) -> ConfigFault {
    let hint = error.hint.clone();
    let spans = read(text).ok().map(|reading| reading.spans);
    let span = spans.and_then(|spans| spans.of(&["sources", &source.name]));
    let what = format!("source `{}` cannot be opened: {:#}", source.name, anyhow::Error::new(error));
    let mut fault = ConfigFault::at(name, text, span, what);
    fault.hint = hint;
    fault
}
