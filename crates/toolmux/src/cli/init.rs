//! `toolmux init`: a configuration to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use super::failure::Failure;
use super::origin::CONFIG;
use super::terminal::note;

/// What is written.
const TEMPLATE: &str = include_str!("init.toml");

/// Write a commented configuration to start from.
///
/// Example: toolmux init && toolmux serve
#[derive(clap::Args)]
pub(super) struct Init {
    /// The file, or the folder to write toolmux.toml in.
    #[arg(default_value = CONFIG)]
    path: PathBuf,
    /// Replace an existing file.
    #[arg(long)]
    force: bool,
}

impl Init {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let file = if self.path.is_dir() { self.path.join(CONFIG) } else { self.path };
        let name = file.display();
        let mut options = OpenOptions::new();
        // Secrets may be written into it.
        options.write(true).create(true).truncate(true).create_new(!self.force).mode(0o600);
        let mut opened = options.open(&file).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::refused(anyhow::anyhow!("`{name}` already exists"))
                .hint("--force replaces it; `toolmux add X` adds a source to it"),
            _ => Failure::refused(anyhow::Error::new(error).context(format!("cannot write `{name}`"))),
        })?;
        opened.write_all(TEMPLATE.as_bytes()).with_context(|| format!("cannot write `{name}`"))?;
        note(&format!("wrote {name}; now: toolmux serve {name}"));
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;
    use crate::listener::ListenLimits;

    /// The template with everything in it that is commented out.
    fn uncommented() -> String {
        let line = |line: &str| match line.strip_prefix('#') {
            Some(setting) if !setting.is_empty() && !setting.starts_with(' ') => setting.to_owned(),
            _ => line.to_owned(),
        };
        TEMPLATE.lines().map(|each| line(each) + "\n").collect::<Vec<_>>().concat()
    }

    #[test]
    fn what_is_commented_out_is_good_and_tells_the_defaults() {
        let text = uncommented().replace("{ env = \"ALICE_KEY\" }", "\"a key that is long enough\"");
        let text = text.replace("{ env = \"OPS_KEY\" }", "\"another key, long enough\"");
        let config = Config::read(&text, "toolmux.toml", Path::new(".")).map_err(|fault| fault.to_string());
        let config = config.expect("everything it shows is known");
        assert_eq!(config.sources.len(), 6);
        // The default of `memory` depends on the machine; an example is shown.
        let usual = toolmux_core::limits::Limits { memory: config.limits.memory, ..Default::default() };
        assert_eq!(config.limits, usual);
        let (web, usual) = (config.web, toolmux_http::serve::WebLimits::default());
        assert_eq!((web.body_bytes, web.body_timeout), (usual.body_bytes, usual.body_timeout));
        assert_eq!(
            (web.sse_sessions, web.session_requests),
            (usual.sse_sessions, usual.session_requests),
            "shown as they are"
        );
        let (shown, usual) = (config.connections, ListenLimits::default());
        assert_eq!((shown.connections, shown.head_timeout), (usual.connections, usual.head_timeout));
        assert_eq!((shown.drain, shown.stop_grace), (usual.drain, usual.stop_grace));
        assert_eq!(shown.write_timeout, usual.write_timeout);
    }
}
