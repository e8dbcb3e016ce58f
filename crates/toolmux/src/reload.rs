//! Follows the configuration file: on SIGHUP, and when the file changes, it is read again. A file that
//! cannot be used is reported, and what runs goes on.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::assembly::Assembly;
use crate::config::Config;
use crate::signals::{hang_ups, next};

/// How often the file is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// Follows a file for ever. Dropping the future ends it.
pub(crate) async fn follow(path: &Path, mut assembly: Assembly, running: &Config) {
    let (mut hang_up, mut seen) = (hang_ups(), stamp(path));
    loop {
        let asked = tokio::select! {
            () = next(&mut hang_up) => true,
            () = tokio::time::sleep(EVERY) => false,
        };
        let now = stamp(path);
        if asked || (now != seen && now.is_some()) {
            seen = now;
            // Looking at thousands of tools again must not keep this thread from answering.
            tokio::task::block_in_place(|| reload(path, &mut assembly, running));
        }
    }
}

fn reload(path: &Path, assembly: &mut Assembly, running: &Config) {
    let changed = Config::load(path).map_err(|fault| match &fault.hint {
        Some(hint) => anyhow::anyhow!("{fault} (hint: {hint})"),
        None => fault.into(),
    });
    let changed = changed.and_then(|config| {
        assembly.change(&config)?;
        Ok(config)
    });
    match changed {
        Ok(config) => {
            tracing::info!("the configuration was read again");
            if (config.listen, &config.store) != (running.listen, &running.store) {
                tracing::warn!("`listen` and `store` change only with a restart");
            }
        }
        Err(error) => tracing::error!("the new configuration is not used: {error:#}"),
    }
}

/// What tells one state of a file from another.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}
