//! `toolmux install-extras`: completions and manual pages where this user's shells and `man` look for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use super::failure::Failure;
use super::terminal::print_line;

/// Install completions and manual pages for this user.
///
/// Completions go to the folders of bash, zsh and fish, whichever of them are installed; pages to the folder
/// that `man` looks into. XDG_DATA_HOME and XDG_CONFIG_HOME are respected.
///
/// Example: toolmux install-extras
#[derive(clap::Args)]
pub(super) struct InstallExtras {}

impl InstallExtras {
    pub(super) fn run() -> Result<ExitCode, Failure> {
        let (data, config) = (base("XDG_DATA_HOME", ".local/share")?, base("XDG_CONFIG_HOME", ".config")?);
        let shells = [
            ("bash", Shell::Bash, data.join("bash-completion/completions")),
            ("zsh", Shell::Zsh, data.join("zsh/site-functions")),
            ("fish", Shell::Fish, config.join("fish/completions")),
        ];
        for (program, shell, folder) in shells {
            if !is_installed(program) {
                continue;
            }
            let folder = made(&folder)?;
            let file = clap_complete::generate_to(shell, &mut Cli::command(), "toolmux", folder);
            let file = file.with_context(|| format!("cannot write to `{}`", folder.display()))?;
            // bash-completion looks for the name of the command alone.
            let file = if program == "bash" { renamed(&file, &folder.join("toolmux"))? } else { file };
            print_line(&file.display().to_string());
            if program == "zsh" {
                eprintln!("zsh: put `fpath+=({})` before `compinit` in ~/.zshrc", folder.display());
            }
        }
        let pages = data.join("man/man1");
        clap_mangen::generate_to(Cli::command(), made(&pages)?)
            .with_context(|| format!("cannot write to `{}`", pages.display()))?;
        print_line(&pages.join("toolmux.1").display().to_string());
        Ok(ExitCode::SUCCESS)
    }
}

/// A folder of the user, by the variable that moves it or by its usual place.
fn base(variable: &str, usual: &str) -> Result<PathBuf, Failure> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(variable).or_else(|| Some(set("HOME")?.join(usual))).ok_or_else(|| {
        Failure::refused(anyhow::anyhow!("there is no home folder"))
            .hint(format!("set HOME or {variable}; `toolmux completions SHELL` and `toolmux man` print them"))
    })
}

fn made(folder: &Path) -> Result<&Path, Failure> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    Ok(folder)
}

fn renamed(from: &Path, to: &Path) -> Result<PathBuf, Failure> {
    fs::rename(from, to).with_context(|| format!("cannot write `{}`", to.display()))?;
    Ok(to.to_owned())
}

fn is_installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}
