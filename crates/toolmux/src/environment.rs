//! Secrets in environment variables. They are taken out of the environment when the program starts: what a process was
//! started with can be read by others, and by its own children, in `/proc/PID/environ`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use toolmux_core::secret::Secret;
use toolmux_dylib_host::remove_variables;

use crate::config::{SecretLocation, kept_secrets};

/// One per process, as there is one environment.
static TAKEN: Mutex<Option<HashMap<String, Secret>>> = Mutex::new(None);

/// Takes the variables that a configuration keeps secrets in out of the environment. Those that it names only after a
/// reload stay there.
pub(crate) fn take_secrets(config: &Path) {
    let text = std::fs::read_to_string(config).unwrap_or_default();
    let secrets = kept_secrets(&text, config.parent().unwrap_or(Path::new("."))).into_iter();
    let names = secrets.filter_map(|secret| match secret.kept {
        SecretLocation::Env(name) => Some(name),
        SecretLocation::File(_) | SecretLocation::Text => None,
    });
    let found: HashMap<String, Secret> =
        names.filter_map(|name| std::env::var(&name).ok().map(|text| (name, Secret::new(text)))).collect();
    let names: Vec<String> = found.keys().cloned().collect();
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    taken.get_or_insert_default().extend(found);
    // Where that cannot be done they are where they were, which whoever may trace this process can read.
    remove_variables(&names).ok();
}

/// A variable, whether it is still in the environment or was taken out of it.
pub(crate) fn variable(name: &str) -> Option<String> {
    let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let secret = taken.as_ref().and_then(|taken| taken.get(name)).map(|secret| secret.expose().to_owned());
    secret.or_else(|| std::env::var(name).ok())
}
