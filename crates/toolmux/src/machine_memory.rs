//! How much memory this process may use: that of the machine, or what its control group allows.

use std::path::{Path, PathBuf};

/// The default of `limits.memory`: an eighth of the memory. What is counted is counted once, while it is held up to
/// five times: as received, as arguments, as sent on, as an answer, and in buffers. The scenario `memory` of
/// `cargo xtask chaos` measures that; so the copies take at most five eighths, and the rest is for all else.
pub(crate) fn default_for_requests() -> Option<usize> {
    available(Path::new("/")).map(|bytes| bytes / 8)
}

fn available(root: &Path) -> Option<usize> {
    let read = |path: PathBuf| std::fs::read_to_string(path).ok();
    let of_machine = read(root.join("proc/meminfo")).as_deref().and_then(total);
    let groups = read(root.join("proc/self/cgroup")).unwrap_or_default();
    let of_groups = groups.lines().flat_map(|line| limits_of(root, line));
    of_groups.chain(of_machine).min()
}

/// `MemTotal: 16384 kB`.
fn total(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

/// What a control group and those above it allow: `0::/a/b` is a group of version 2, `5:memory:/a/b` of
/// version 1. Inside a container the path may name a group that is not visible; the root of what is visible is
/// then the container's own.
fn limits_of(root: &Path, line: &str) -> Vec<usize> {
    let mut parts = line.splitn(3, ':');
    let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
        return Vec::new();
    };
    let (folder, file) = if controllers.is_empty() {
        ("sys/fs/cgroup", "memory.max")
    } else if controllers.split(',').any(|name| name == "memory") {
        ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
    } else {
        return Vec::new();
    };
    let below = Path::new(path.trim_start_matches('/'));
    let limit = |group: &Path| {
        let text = std::fs::read_to_string(root.join(folder).join(group).join(file)).ok()?;
        text.trim().parse().ok()
    };
    below.ancestors().filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       1048576 kB\nMemFree: 1 kB\n";

    fn check(files: &[(&str, &str)], expect: Option<usize>) {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        assert_eq!(available(root.path()), expect, "{files:?}");
    }

    #[test]
    fn the_smallest_of_machine_and_control_groups_counts() {
        check(&[], None);
        check(&[("proc/meminfo", MEMINFO)], Some(1 << 30));
        let second = ("proc/self/cgroup", "0::/a/b\n");
        let max = ("sys/fs/cgroup/a/b/memory.max", "max\n");
        check(&[("proc/meminfo", MEMINFO), second, max], Some(1 << 30));
        let above = ("sys/fs/cgroup/a/memory.max", "536870912\n");
        check(&[("proc/meminfo", MEMINFO), second, max, above], Some(512 << 20));
        let container = ("sys/fs/cgroup/memory.max", "268435456\n");
        check(&[("proc/meminfo", MEMINFO), ("proc/self/cgroup", "0::/\n"), container], Some(256 << 20));
        let first = ("proc/self/cgroup", "7:cpu:/x\n5:memory:/a\n");
        let limit = ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000000\n");
        check(&[("proc/meminfo", MEMINFO), first, limit], Some(1_000_000));
    }
}
