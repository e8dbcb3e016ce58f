//! The commonest reason why a source that is a command does not answer: its program is not there.

use std::path::Path;

use super::detect::on_path;
use crate::config::SourceConfig;

/// What to do about a source whose program cannot be found; nothing when it can, or when there is none. The program is
/// not named: what is taken for its name may be a secret.
pub(super) fn missing_program(source: &SourceConfig) -> Option<&'static str> {
    let program = source.table["command"][0].as_str()?;
    // A path may be relative to the folder of the configuration.
    let beside = program.contains('/') && on_path(&source.folder.join(program));
    let is_there = beside || on_path(Path::new(program));
    (!is_there).then_some(
        "its program is missing: install it, or give its whole path as the first word of `command`",
    )
}
