//! How many connections the limit on open files leaves room for. Idle strangers must not take the descriptors that
//! commands, sources and the store need.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most descriptors that are kept for everything but connections.
const MOST_RESERVED: u64 = 1_024;

/// Raises the limit on open files as far as this process may, and gives it; `None` where there is none.
pub(super) fn raise_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
    {
        tracing::debug!(%error, "the limit on open files cannot be raised");
    }
    getrlimit(Resource::Nofile).current
}

/// How many connections may be open at a time, of those wanted.
pub(super) fn connections_within(limit: Option<u64>, wanted: usize) -> usize {
    let Some(limit) = limit else { return wanted };
    let room = limit - (limit / 4).min(MOST_RESERVED);
    let room = usize::try_from(room).unwrap_or(usize::MAX).max(1);
    if room < wanted {
        tracing::warn!(
            "at most {room} connections are open at a time instead of `limits.connections` = {wanted}, because this \
             process may open {limit} files"
        );
    }
    wanted.min(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(limit: Option<u64>, wanted: usize, expect: usize) {
        assert_eq!(connections_within(limit, wanted), expect, "{limit:?} {wanted}");
    }

    #[test]
    fn descriptors_are_left_for_everything_else() {
        check(None, 16_384, 16_384);
        check(Some(1_024), 16_384, 768);
        check(Some(1_024), 100, 100);
        check(Some(20_000), 16_384, 16_384);
        check(Some(16_384), 16_384, 15_360);
        check(Some(1), 5, 1);
    }
}
