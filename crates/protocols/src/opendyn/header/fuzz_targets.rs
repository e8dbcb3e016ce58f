//! Invariants of reading C headers, from what the preprocessor writes on.

use std::collections::HashSet;

use super::classify::{Comments, classified};
use super::preprocess::separate;
use crate::fuzz_targets::{Target, examples};

pub(crate) const TARGETS: &[Target] = &[("c_header", header_examples, header)];

fn header_examples() -> Vec<Vec<u8>> {
    examples(&[
        "# 1 \"a.h\"\n/* Adds. */\nint add(int a, int b);\ntypedef unsigned long size_t;\nlong hash(const unsigned char *data, size_t n);\n",
        "# 1 \"a.h\"\n# 1 \"/usr/b.h\" 1\nint x;\n# 2 \"a.h\" 2\nchar *name(void); /* after */\nint vary(const char *f, ...);\nvoid back(void (*f)(int), double d[3]);\n",
        "# 1 \"a.h\"\ntypedef struct db db;\nenum e { A, B = 2 };\ndb *open_db(const char *path, enum e mode);\nstatic inline int one(void) { return 1; }\nextern const char *const words[];\n",
    ])
}

/// Each function of a header is described, asked about or impossible, exactly once, and always the same.
fn header(data: &[u8]) {
    let output = String::from_utf8_lossy(data);
    let read = || {
        classified(&separate(&output, "a.h"), Comments::Before, &|_| true).expect("the grammar can be used")
    };
    let described = read();
    let again = read();
    assert_eq!(described.ready, again.ready);
    let ready = described.ready.iter().filter_map(|function| function["name"].as_str());
    let others = described.undecided.iter().chain(&described.impossible).map(|(name, _)| name.as_str());
    let mut names = HashSet::new();
    for name in ready.chain(others) {
        assert!(names.insert(name), "`{name}` is there twice");
        assert!(output.contains(name), "`{name}` is not in the header");
    }
    assert_eq!(names.len(), described.ready.len() + described.undecided.len() + described.impossible.len());
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
