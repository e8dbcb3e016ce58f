//! What `toolmux check` says of a file: all that `toolmux serve` would refuse, and what is most likely a mistake. Secrets
//! need not be there.

use std::path::Path;

use toolmux_core::sources::Naming;
use toolmux_core::toolset::Pattern;

use super::fault::ConfigFault;
use super::load::{Loaded, folder_of, load, opening_faults, text_of};
use super::resolve::Variables;
use super::secret_locations::{SecretLocation, kept_secrets};
use super::{Config, SourceConfig};

/// What was found in a file.
pub(crate) struct Judgement {
    /// Without the parts that have a fault; absent for a text that is not TOML.
    pub(crate) config: Option<Config>,
    /// What `serve` would refuse; none for a good file.
    pub(crate) faults: Option<ConfigFault>,
    /// What it would not.
    pub(crate) warnings: Vec<ConfigFault>,
}

/// Judges a file as `serve` would, without connecting to anything.
pub(crate) fn judge(path: &Path) -> Result<Judgement, ConfigFault> {
    let (text, name) = (text_of(path)?, path.display().to_string());
    let file = (text.as_str(), name.as_str());
    let Loaded { config, mut faults, mut warnings } = load(file, folder_of(path), Variables::MayBeUnset);
    if let Some((config, spans)) = &config {
        faults.extend(
            config.sources.iter().flat_map(|source| opening_faults(source, file, Variables::MayBeUnset)),
        );
        let has_callers = spans.has(&["keys"]) || spans.has(&["jwt"]);
        if let Err(fault) = config.check_exposure()
            && (faults.is_empty() || !has_callers)
        {
            faults.push(fault.moved_to(file, spans.of(&["listen"])));
        }
        let warn = |path: Vec<&str>, what: String| ConfigFault::at(&name, &text, spans.of(&path), what);
        for place in unset_variables(file.0, folder_of(path)) {
            let what = format!("`{place}`: its environment variable is not set here");
            warnings.push(warn(place.split('.').collect(), what));
        }
        for (place, what) in idle_patterns(config) {
            warnings.push(warn(place, what).hint(toolkits(&config.sources)));
        }
        if config.sources.is_empty() && faults.is_empty() {
            let nothing =
                ConfigFault::at(&name, &text, Some(0..0), "there is no source: no tool is served".to_owned());
            warnings.push(nothing.hint("`toolmux add X` adds one"));
        }
    }
    let config = config.map(|(config, _)| config);
    Ok(Judgement { config, faults: ConfigFault::joined(faults), warnings })
}

/// The places of secrets in variables that are not set.
fn unset_variables(text: &str, folder: &Path) -> Vec<String> {
    let secrets = kept_secrets(text, folder).into_iter();
    let unset =
        secrets.filter(|secret| matches!(secret.kept, SecretLocation::Env(_)) && secret.length.is_none());
    unset.map(|secret| secret.place).collect()
}

/// Patterns of toolsets and of settings that fit no tool, whatever tools the sources have.
fn idle_patterns(config: &Config) -> Vec<(Vec<&str>, String)> {
    let may_fit = |pattern: &Pattern| {
        config.sources.iter().any(|source| source.naming == Naming::Bare || pattern.may_fit(&source.toolkit))
    };
    let settings = config.tools.iter().map(|(pattern, _)| {
        (vec!["tools", pattern.as_str()], format!("[tools.\"{}\"]", pattern.as_str()), pattern)
    });
    let toolsets = config.toolsets.iter().flat_map(|set| {
        set.tools.iter().enumerate().map(|(place, pattern)| {
            (
                vec!["toolsets", set.name.as_str(), "tools"],
                format!("item {} of toolsets.{}.tools", place + 1, set.name),
                pattern,
            )
        })
    });
    let idle =
        settings.chain(toolsets).filter(|(_, _, pattern)| !config.sources.is_empty() && !may_fit(pattern));
    idle.map(|(path, place, _)| (path, format!("{place} matches no source"))).collect()
}

fn toolkits(sources: &[SourceConfig]) -> String {
    let names: Vec<&str> = sources.iter().map(|source| source.toolkit.as_str()).collect();
    format!("there are: {}", names.join(", "))
}
