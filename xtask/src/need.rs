//! Programs the machine must have, and installing those it lacks with Debian's package manager.
//!
//! A need is judged by what works, not by what is registered: a Node.js from elsewhere is as good as Debian's.

use std::process::Command;

use anyhow::{Context, bail};

use crate::process;

/// One program, how to see that it works, and the Debian packages that bring it.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    pub(crate) what: &'static str,
    pub(crate) probe: &'static [&'static str],
    pub(crate) packages: &'static [&'static str],
}

pub(crate) const C_COMPILER: Need = Need {
    what: "a C compiler and make",
    probe: &["sh", "-c", "cc --version && make --version"],
    packages: &["build-essential"],
};
pub(crate) const PKG_CONFIG: Need =
    Need { what: "pkg-config", probe: &["pkg-config", "--version"], packages: &["pkg-config"] };
pub(crate) const VALGRIND: Need =
    Need { what: "valgrind", probe: &["valgrind", "--version"], packages: &["valgrind"] };
pub(crate) const GIT: Need = Need { what: "git", probe: &["git", "--version"], packages: &["git"] };
/// Tests send signals by the program, not by a word of the shell.
pub(crate) const KILL: Need = Need { what: "kill", probe: &["kill", "-l"], packages: &["procps"] };
/// Documentation calls servers with it; npm, pip and cargo count on the certificates.
pub(crate) const CURL: Need = Need {
    what: "curl with certificates of authorities",
    probe: &["sh", "-c", "curl --version && test -s /etc/ssl/certs/ca-certificates.crt"],
    packages: &["curl", "ca-certificates"],
};
pub(crate) const PYTHON_VENV: Need = Need {
    what: "Python with virtual environments",
    probe: &["python3", "-c", "import venv, ensurepip"],
    packages: &["python3", "python3-venv"],
};
pub(crate) const NODE: Need = Need {
    what: "Node.js with npm",
    probe: &["sh", "-c", "node --version && npm --version"],
    packages: &["nodejs", "npm"],
};

pub(crate) const CHROMIUM: Need =
    Need { what: "Chromium", probe: &["/usr/bin/chromium", "--version"], packages: &["chromium"] };

/// Only its programs: tests start a private server of their own.
pub(crate) const POSTGRESQL: Need = Need {
    what: "PostgreSQL",
    probe: &["sh", "-c", "ls /usr/lib/postgresql/*/bin/initdb"],
    packages: &["postgresql"],
};

pub(crate) const C_LIBRARIES: Need = Need {
    what: "the C libraries of examples/opendyn with their headers",
    probe: &[
        "sh",
        "-c",
        "echo 'int main(void){return 0;}' | cc -xc - -include zlib.h -include sqlite3.h -include openssl/sha.h \
         -include zstd.h -include lz4.h -include bzlib.h -include curl/curl.h -include git2.h -include sodium.h \
         -include geos_c.h -include magic.h -include cmark.h -include qrencode.h -include jansson.h \
         -include uuid/uuid.h -DPCRE2_CODE_UNIT_WIDTH=8 -include pcre2.h -I/usr/include/libxml2 \
         -include libxml/parser.h -o /dev/null -lz -lsqlite3 -lcrypto",
    ],
    packages: &[
        "zlib1g-dev",
        "libsqlite3-dev",
        "libssl-dev",
        "libzstd-dev",
        "liblz4-dev",
        "libbz2-dev",
        "libcurl4-openssl-dev",
        "libxml2-dev",
        "libpcre2-dev",
        "libgit2-dev",
        "libsodium-dev",
        "libgeos-dev",
        "libmagic-dev",
        "libcmark-dev",
        "libqrencode-dev",
        "libjansson-dev",
        "uuid-dev",
    ],
};

/// Installs what is missing; quick and silent about what is there.
pub(crate) fn meet(needs: &[Need]) -> anyhow::Result<()> {
    let missing = missing(needs, works);
    if missing.is_empty() {
        println!("    nothing is missing");
        return Ok(());
    }
    let mut packages = Vec::new();
    for need in &missing {
        println!("    {} is missing: installing {}", need.what, need.packages.join(" "));
        packages.extend_from_slice(need.packages);
    }
    install(&packages)?;
    match missing.iter().find(|need| !works(need)) {
        Some(need) => bail!("{} still does not work after installing {}", need.what, need.packages.join(" ")),
        None => Ok(()),
    }
}

fn missing(needs: &[Need], works: impl Fn(&Need) -> bool) -> Vec<Need> {
    needs.iter().copied().filter(|need| !works(need)).collect()
}

fn works(need: &Need) -> bool {
    need.probe
        .split_first()
        .is_some_and(|(program, arguments)| process::succeeds(Command::new(program).args(arguments)))
}

/// The package lists are brought up to date only when the installation fails without that.
fn install(packages: &[&str]) -> anyhow::Result<()> {
    if process::run(apt().args(["install", "--yes", "--no-install-recommends"]).args(packages)).is_ok() {
        return Ok(());
    }
    println!("    the package lists may be old: updating them and trying once more");
    process::run(apt().arg("update"))?;
    process::run(apt().args(["install", "--yes", "--no-install-recommends"]).args(packages))
        .with_context(|| format!("install by hand, as root: apt-get install {}", packages.join(" ")))
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command.arg("--quiet").env("DEBIAN_FRONTEND", "noninteractive");
    command
}

#[cfg(test)]
mod tests {
    use super::{Need, missing, works};

    fn check(probes: &[&'static [&'static str]], expect: &[usize]) {
        let needs: Vec<Need> =
            probes.iter().map(|probe| Need { what: probe[0], probe, packages: &["package"] }).collect();
        let found: Vec<&str> = missing(&needs, works).iter().map(|need| need.what).collect();
        let expected: Vec<&str> = expect.iter().map(|index| needs[*index].what).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_what_does_not_work_is_missing() {
        check(&[&["true"], &["false"], &["no-such-program"]], &[1, 2]);
        check(&[&["true"]], &[]);
        check(&[], &[]);
    }
}
