//! What becomes of a library whose sandbox the kernel does not grant, or not wholly.

use std::sync::Once;

use toolmux_dylib_host::hello::{Degree, Enforced, Profile};

/// What to do about it.
const REMEDY: &str = "Linux 5.13 or newer has landlock, unless it was left out; \
                      `sandbox = \"off\"` runs the library without a sandbox";

/// Refuses a library that was promised to compute and nothing else, where that cannot be kept. Says in the log, once,
/// that the sandbox has gaps where it is used all the same.
pub(super) fn check(profile: Profile, enforced: Enforced) -> Result<(), String> {
    static TOLD: Once = Once::new();
    let gap = match (profile, enforced.files.min(enforced.system_calls)) {
        (Profile::Off, _) | (Profile::Pure | Profile::Deny, Degree::Fully) => return Ok(()),
        (Profile::Pure, Degree::Not) => {
            return Err(format!(
                "the sandbox `pure` cannot be enforced: this kernel grants no landlock or no seccomp. {REMEDY}"
            ));
        }
        (Profile::Deny, Degree::Not) => "files that are not listed can be used, for lack of landlock",
        (Profile::Pure | Profile::Deny, Degree::Partly) => {
            "the landlock of this kernel is older than version 6"
        }
    };
    TOLD.call_once(|| tracing::warn!("the sandbox of libraries is only partly enforced: {gap}. {REMEDY}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pure_is_refused_where_it_cannot_be_kept() {
        for (profile, files, expect) in [
            (Profile::Pure, Degree::Fully, true),
            (Profile::Pure, Degree::Partly, true),
            (Profile::Pure, Degree::Not, false),
            (Profile::Deny, Degree::Not, true),
            (Profile::Off, Degree::Not, true),
        ] {
            let enforced = Enforced { files, system_calls: Degree::Fully };
            assert_eq!(check(profile, enforced).is_ok(), expect, "{profile:?} {files:?}");
        }
    }
}
