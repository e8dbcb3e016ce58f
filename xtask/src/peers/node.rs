//! npm packages of a suite, in a folder of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::peers::stamp::{self, Made};
use crate::process;

/// Installs these packages into `folder/node_modules`, unless they are already there.
pub(crate) fn prepare(folder: &Path, packages: &[&str]) -> anyhow::Result<Made> {
    let version = process::capture(Command::new("node").arg("--version"))?;
    let recipe = format!("{version}{}", packages.join("\n"));
    stamp::once(folder, &recipe, || {
        println!("    installing npm packages: {}", packages.join(", "));
        // Without a manifest of its own npm would look for one in the folders above.
        fs::write(folder.join("package.json"), r#"{"private":true}"#)?;
        let mut install = Command::new("npm");
        install.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--install-links"]);
        process::run(install.args(packages).current_dir(folder))
    })
}

#[cfg(test)]
mod tests {
    use super::prepare;
    use crate::peers::stamp::Made;
    use crate::process;
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    fn check(folder: &Path, packages: &[&str], expect: Made) {
        assert_eq!(prepare(folder, packages).unwrap(), expect);
    }

    #[test]
    fn packages_are_installed_once_into_a_folder_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("peer-fact");
        fs::create_dir(&package).unwrap();
        fs::write(package.join("package.json"), r#"{"name":"peer-fact","version":"1.0.0"}"#).unwrap();
        fs::write(package.join("index.js"), "module.exports = 42").unwrap();
        let installed = folder.path().join("installed");
        let packages = [package.to_str().unwrap()];
        check(&installed, &packages, Made::Now);
        check(&installed, &packages, Made::Before);
        let mut ask = Command::new("node");
        ask.args(["-e", "console.log(require('peer-fact'))"])
            .env("NODE_PATH", installed.join("node_modules"));
        assert_eq!(process::capture(&mut ask).unwrap(), "42\n");
    }
}
