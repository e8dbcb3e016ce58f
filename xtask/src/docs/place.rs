//! Where a page is followed: a copy of the project's files as a clone has them, an empty home, the built programs on the
//! path, and free ports in the place of those that are written.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use tempfile::TempDir;

use crate::process;
use crate::tidy::tracked;
use crate::workspace::Workspace;

/// What cargo would build is built already, in the debug profile: building again would take minutes.
const CARGO: &str = r#"#!/bin/sh
case "$1" in
  build|install) exit 0 ;;
  run) shift ;;
  *) echo "the docs step cannot run cargo $1" >&2; exit 1 ;;
esac
program=toolmux
while [ $# -gt 0 ]; do
  case "$1" in
    --) shift; break ;;
    --example) program=examples/$2; shift ;;
  esac
  shift
done
exec "$BUILT/$program" "$@"
"#;

pub(super) struct Place {
    folder: TempDir,
    built: PathBuf,
    ports: BTreeMap<String, Port>,
}

/// A free port that nobody else is given while this lives; a server can listen on it all the same.
struct Port {
    number: u16,
    _socket: OwnedFd,
}

impl Port {
    /// Bound and not listening. That it may be shared is said after binding, so that no two of ours share one.
    fn reserve() -> anyhow::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        net::sockopt::set_socket_reuseaddr(&socket, true)?;
        let number = SocketAddrV4::try_from(net::getsockname(&socket)?)?.port();
        Ok(Self { number, _socket: socket })
    }
}

impl Place {
    pub(super) fn new(workspace: &Workspace) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("toolmux-docs-").tempdir()?;
        let mut place = Self { folder, built: workspace.target.join("debug"), ports: BTreeMap::new() };
        for name in ["home", "bin", "said"] {
            fs::create_dir(place.folder.path().join(name))?;
        }
        for file in tracked::list(&workspace.root)? {
            let to = place.project().join(&file.path);
            fs::create_dir_all(to.parent().unwrap_or(Path::new("/")))?;
            let ours = file.path.starts_with("examples/") || file.path.starts_with("docs/");
            fs::write(&to, if ours { place.with_free_ports(&file.text)? } else { file.text })?;
            fs::set_permissions(&to, fs::metadata(workspace.root.join(&file.path))?.permissions())?;
        }
        place.programs()?;
        Ok(place)
    }

    /// The copy of the project, where a page begins.
    pub(super) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Where commands and what they print are kept.
    pub(super) fn said(&self) -> PathBuf {
        self.folder.path().join("said")
    }

    /// The text with a free port for every `:9627` and its neighbours, the same one for the same number.
    pub(super) fn with_free_ports(&mut self, text: &str) -> anyhow::Result<String> {
        let mut parts = text.split(":9");
        let mut replaced = vec![parts.next().unwrap_or_default().to_owned()];
        for part in parts {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            let ours = digits == 3 && part.starts_with(['6', '7', '8', '9']);
            let port =
                if ours { self.port(&part[..3])?.to_string() } else { format!("9{}", &part[..digits]) };
            replaced.push(port + &part[digits..]);
        }
        Ok(replaced.join(":"))
    }

    /// The text with the written ports in the place of the free ones.
    pub(super) fn as_written(&self, text: &str) -> String {
        self.ports.iter().fold(text.to_owned(), |text, (written, port)| {
            text.replace(&format!(":{}", port.number), &format!(":9{written}"))
        })
    }

    fn port(&mut self, written: &str) -> anyhow::Result<u16> {
        if let Some(port) = self.ports.get(written) {
            return Ok(port.number);
        }
        let port = Port::reserve()?;
        let number = port.number;
        self.ports.insert(written.to_owned(), port);
        Ok(number)
    }

    /// `bash` as a newcomer has it, in the project.
    pub(super) fn bash(&self) -> anyhow::Result<Command> {
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc"]).current_dir(self.project()).env_clear();
        bash.env("PATH", self.path()?).env("HOME", self.folder.path().join("home"));
        bash.env("BUILT", &self.built).env("LANG", "C.UTF-8").env("TERM", "dumb");
        Ok(bash)
    }

    fn path(&self) -> anyhow::Result<OsString> {
        let inherited = env::var_os("PATH").unwrap_or_default();
        Ok(env::join_paths([self.folder.path().join("bin")].into_iter().chain(env::split_paths(&inherited)))?)
    }

    fn programs(&self) -> anyhow::Result<()> {
        let bin = self.folder.path().join("bin");
        symlink(self.built.join("toolmux"), bin.join("toolmux"))?;
        fs::write(bin.join("cargo"), CARGO)?;
        fs::set_permissions(bin.join("cargo"), fs::Permissions::from_mode(0o755))?;
        // Version managers look for Python in the home folder, which is empty here.
        let python =
            process::capture(Command::new("python3").args(["-c", "import sys; print(sys.executable)"]))?;
        symlink(python.trim(), bin.join("python3")).context("cannot offer python3")
    }
}
