//! Python packages of a suite, in a virtual environment of its own.

use std::path::Path;
use std::process::Command;

use crate::peers::stamp::{self, Made};
use crate::process;

/// Makes the environment in `folder` with these packages in it, unless it is already there.
pub(crate) fn prepare(folder: &Path, packages: &[&str]) -> anyhow::Result<Made> {
    let version = process::capture(Command::new("python3").arg("--version"))?;
    let recipe = format!("{version}{}", packages.join("\n"));
    stamp::once(folder, &recipe, || {
        println!("    making a Python environment with {}", listed(packages));
        process::run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        if packages.is_empty() {
            return Ok(());
        }
        let mut install = Command::new(folder.join("bin").join("python"));
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]);
        process::run(install.args(packages))
    })
}

fn listed(packages: &[&str]) -> String {
    if packages.is_empty() { "no packages".to_owned() } else { packages.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::prepare;
    use crate::peers::stamp::Made;
    use crate::process;
    use std::path::Path;
    use std::process::Command;

    /// A wheel is a zip archive: this one needs no network to install.
    const WHEEL: &str = "
import sys, zipfile
info = 'peer_fact-1.0.dist-info/'
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    wheel.writestr('peer_fact.py', 'answer = 42')
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: peer-fact\\nVersion: 1.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', '')
";

    fn check(folder: &Path, packages: &[&str], expect: Made) {
        assert_eq!(prepare(folder, packages).unwrap(), expect);
    }

    #[test]
    fn packages_are_installed_once_into_an_environment_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let wheel = folder.path().join("peer_fact-1.0-py3-none-any.whl");
        process::run(Command::new("python3").args(["-c", WHEEL]).arg(&wheel)).unwrap();
        let environment = folder.path().join("environment");
        let packages = [wheel.to_str().unwrap()];
        check(&environment, &packages, Made::Now);
        check(&environment, &packages, Made::Before);
        let mut ask = Command::new(environment.join("bin/python"));
        ask.args(["-c", "import peer_fact; print(peer_fact.answer)"]);
        assert_eq!(process::capture(&mut ask).unwrap(), "42\n");
    }
}
