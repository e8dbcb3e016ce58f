//! Release archives and the script that installs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn script(name: &str, arguments: &[&Path], home: &Path) -> Output {
    let script = Path::new(ROOT).join("packaging").join(name);
    Command::new(script)
        .args(arguments)
        .env("HOME", home)
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap()
}

/// An archive of the program under test.
fn archive(home: &Path) -> PathBuf {
    let folder = home.join("out");
    let program = Path::new(env!("CARGO_BIN_EXE_toolmux"));
    let packed = script("archive.sh", &[program, Path::new("here"), &folder], home);
    assert!(packed.status.success(), "{packed:?}");
    PathBuf::from(String::from_utf8(packed.stdout).unwrap().trim_end())
}

#[test]
fn an_archive_is_installed_with_its_manual_pages() {
    let home = tempfile::tempdir().unwrap();
    let installed = script("install.sh", &[&archive(home.path())], home.path());
    assert!(installed.status.success(), "{installed:?}");

    let program = home.path().join(".local/bin/toolmux");
    let version = Command::new(&program).arg("--version").output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&version.stdout).trim(),
        concat!("toolmux ", env!("CARGO_PKG_VERSION"))
    );
    assert!(home.path().join(".local/share/man/man1/toolmux.1").exists());
}

#[test]
fn the_script_alone_installs_an_archive_below_a_prefix() {
    let home = tempfile::tempdir().unwrap();
    let alone = home.path().join("alone/install.sh");
    fs::create_dir(home.path().join("alone")).unwrap();
    fs::copy(Path::new(ROOT).join("packaging/install.sh"), &alone).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&alone);
        command.args(arguments).current_dir(home.path()).env("HOME", home.path());
        command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME").output().unwrap()
    };
    let archive = archive(home.path());
    let installed = run(&[archive.to_str().unwrap(), "--prefix", "below"]);
    assert!(installed.status.success(), "{installed:?}");
    assert!(home.path().join("below/bin/toolmux").exists());
    assert!(home.path().join("below/share/man/man1/toolmux.1").exists());
    assert!(!home.path().join(".local").exists());

    let help = run(&["--help"]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("--prefix DIR"), "{help:?}");
    let nothing = run(&[]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&nothing.stderr).contains("name the archive of a release"),
        "{nothing:?}"
    );
}

#[test]
fn an_archive_that_differs_from_its_checksum_is_not_installed() {
    let home = tempfile::tempdir().unwrap();
    let archive = archive(home.path());
    let mut bytes = fs::read(&archive).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&archive, bytes).unwrap();

    let refused = script("install.sh", &[&archive], home.path());
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("does not match"), "{refused:?}");
    assert!(!home.path().join(".local/bin").exists());
}
