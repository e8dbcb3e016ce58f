//! What an operator is told of a function that failed where the sandbox may be the reason: what the worker saw the sandbox
//! refuse while the function ran. Refusals that it does not see leave an `errno`, and paths among the arguments.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde_json::Value;
use toolmux_dylib_host::denial::Denial;
use toolmux_dylib_host::hello::{Profile, Sandbox};

/// How many paths, or refusals, are named.
const MOST_NAMED: usize = 3;
/// How much of a name is told: a library that has taken over its worker can write what it wants.
const LONGEST_NAME: usize = 600;

/// In words, when something was refused, or when `errno` is one by which the sandbox refuses.
pub(super) fn refused_access(
    sandbox: &Sandbox,
    (errno, denials): (i32, &[Denial]),
    arguments: &str,
) -> Option<String> {
    let remedy = match sandbox.profile {
        Profile::Off => return None,
        Profile::Pure => {
            "`sandbox = \"pure\"` refuses every file and most system calls; `sandbox = \"deny\"` lets the library \
             use the files in `readable` and `writable`"
        }
        Profile::Deny => "the sandbox refuses files that are not in `readable` or `writable`",
    };
    if denials.is_empty() {
        return suspicion(sandbox, errno, arguments, remedy);
    }
    // The latest: a library that fails does so after what it was refused.
    let skipped = denials.len().saturating_sub(MOST_NAMED);
    let told: Vec<String> = denials[skipped..].iter().map(|denial| words(sandbox, denial)).collect();
    let words = format!("while the function ran, {}", told.join("; "));
    Some(if sandbox.profile == Profile::Pure { format!("{words}: {remedy}") } else { words })
}

fn words(sandbox: &Sandbox, denial: &Denial) -> String {
    let (verb, path, listed, setting) = match denial {
        Denial::Call(name) => return format!("the sandbox refused the system call `{}`", plain(name)),
        Denial::Read(path) => ("read", path, is_listed(sandbox, Path::new(path)), "readable"),
        Denial::Write(path) => {
            ("write", path, sandbox.writable.iter().any(|own| Path::new(path).starts_with(own)), "writable")
        }
    };
    let path = plain(path);
    match sandbox.profile {
        // The kernel gives the same error for both.
        Profile::Deny if listed => {
            format!(
                "it was refused to {verb} `{path}` although that is listed: check the permissions of the file"
            )
        }
        Profile::Deny => format!("the sandbox refused to {verb} `{path}`: add it to `{setting}`"),
        Profile::Pure | Profile::Off => format!("the sandbox refused to {verb} `{path}`"),
    }
}

fn plain(name: &str) -> String {
    name.chars().take(LONGEST_NAME).flat_map(char::escape_debug).collect()
}

fn is_listed(sandbox: &Sandbox, path: &Path) -> bool {
    sandbox.readable.iter().chain(&sandbox.writable).any(|own| path.starts_with(own))
}

/// What can be said without having seen a refusal.
fn suspicion(sandbox: &Sandbox, errno: i32, arguments: &str, remedy: &str) -> Option<String> {
    let is_refusal = [Errno::PERM, Errno::ACCESS].iter().any(|refusal| refusal.raw_os_error() == errno);
    if !is_refusal {
        return None;
    }
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

    fn told(profile: Profile, errno: i32, denials: &[Denial], path: &str) -> Option<String> {
        let sandbox = Sandbox { profile, readable: vec!["/data".into()], writable: vec!["/out".into()] };
        let arguments = serde_json::json!({ "path": path, "n": 1 }).to_string();
        refused_access(&sandbox, (errno, denials), &arguments)
    }

    #[track_caller]
    fn check(profile: Profile, errno: i32, path: &str, expect: Option<&str>) {
        let told = told(profile, errno, &[], path);
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

    #[track_caller]
    fn check_denials(profile: Profile, denials: &[Denial], expect: &str) {
        assert_eq!(told(profile, 0, denials, "x").as_deref(), Some(expect));
    }

    #[test]
    fn what_was_refused_is_named_with_the_setting_that_allows_it() {
        let (read, write) = (|path: &str| Denial::Read(path.into()), |path: &str| Denial::Write(path.into()));
        let socket = Denial::Call("socket".into());
        check_denials(
            Profile::Deny,
            &[read("/etc/gitconfig"), socket.clone()],
            "while the function ran, the sandbox refused to read `/etc/gitconfig`: add it to `readable`; the sandbox \
             refused the system call `socket`",
        );
        check_denials(
            Profile::Deny,
            &[write("/data/x")],
            "while the function ran, the sandbox refused to write `/data/x`: add it to `writable`",
        );
        check_denials(
            Profile::Deny,
            &[read("/out/x")],
            "while the function ran, it was refused to read `/out/x` although that is listed: check the permissions of \
             the file",
        );
        check_denials(
            Profile::Pure,
            &[read("/1"), read("/2"), read("/3"), socket],
            "while the function ran, the sandbox refused to read `/2`; the sandbox refused to read `/3`; the sandbox \
             refused the system call `socket`: `sandbox = \"pure\"` refuses every file and most system calls; \
             `sandbox = \"deny\"` lets the library use the files in `readable` and `writable`",
        );
    }
}
