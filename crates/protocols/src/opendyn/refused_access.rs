//! What an operator is told of a function that failed where the sandbox may be the reason. The kernel does not tell the
//! server what it refused: what there is to see is the `errno` that the function left, and the paths among its
//! arguments.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde_json::Value;
use toolmux_dylib_host::hello::{Profile, Sandbox};

/// How many paths are named.
const MOST_NAMED: usize = 3;

/// In words, when `errno` is one by which the sandbox refuses.
pub(super) fn refused_access(sandbox: &Sandbox, errno: i32, arguments: &str) -> Option<String> {
    let is_refusal = [Errno::PERM, Errno::ACCESS].iter().any(|refusal| refusal.raw_os_error() == errno);
    if !is_refusal {
        return None;
    }
    let remedy = match sandbox.profile {
        Profile::Off => return None,
        Profile::Pure => {
            "`sandbox = \"pure\"` refuses every file and most system calls; `sandbox = \"deny\"` lets the library \
             use the files in `readable` and `writable`"
        }
        Profile::Deny => "the sandbox refuses files that are not in `readable` or `writable`",
    };
    let error = io::Error::from_raw_os_error(errno);
    let mut words = format!(
        "the function left the error `{error}`, so that the sandbox may have refused it a file or a system call: {remedy}"
    );
    let outside = paths_outside(sandbox, arguments);
    if !outside.is_empty() {
        words = format!("{words}; not listed there: `{}`", outside.join("`, `"));
    }
    Some(words)
}

/// The absolute paths among the arguments that the sandbox does not let the library read.
fn paths_outside(sandbox: &Sandbox, arguments: &str) -> Vec<String> {
    let given: HashMap<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    let listed: &[&[PathBuf]] = match sandbox.profile {
        Profile::Deny => &[&sandbox.readable, &sandbox.writable],
        Profile::Pure | Profile::Off => &[],
    };
    let is_outside =
        |path: &Path| !listed.iter().flat_map(|paths| paths.iter()).any(|own| path.starts_with(own));
    let texts = given.into_values().filter_map(|value| value.as_str().map(str::to_owned));
    let mut outside: Vec<String> =
        texts.filter(|text| text.starts_with('/') && is_outside(Path::new(text))).collect();
    outside.sort_unstable();
    outside.truncate(MOST_NAMED);
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    const EACCES: i32 = 13;

    #[track_caller]
    fn check(profile: Profile, errno: i32, path: &str, expect: Option<&str>) {
        let sandbox = Sandbox { profile, readable: vec!["/data".into()], writable: vec!["/out".into()] };
        let arguments = serde_json::json!({ "path": path, "n": 1 }).to_string();
        let told = refused_access(&sandbox, errno, &arguments);
        match expect {
            None => assert_eq!(told, None),
            Some(words) => assert!(told.as_ref().is_some_and(|told| told.ends_with(words)), "{told:?}"),
        }
    }

    #[test]
    fn a_path_outside_of_the_sandbox_is_named() {
        check(Profile::Deny, EACCES, "/etc/gitconfig", Some("not listed there: `/etc/gitconfig`"));
        check(Profile::Deny, EACCES, "/data/x", Some("are not in `readable` or `writable`"));
        check(Profile::Pure, EACCES, "/data/x", Some("not listed there: `/data/x`"));
        check(Profile::Pure, EACCES, "x", Some("in `readable` and `writable`"));
        check(Profile::Off, EACCES, "/etc/gitconfig", None);
        check(Profile::Deny, 2, "/etc/gitconfig", None);
    }
}
