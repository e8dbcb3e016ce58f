//! Invariants of reading C headers, from what the preprocessor writes on.

use std::collections::HashSet;

use serde_json::Value;

use super::classify::classified;
use super::preprocess::separate;
use super::request::HeaderRequest;
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
        let preprocessed = separate(&output, &|file| file == "a.h");
        classified(&preprocessed, &HeaderRequest::default()).expect("the grammar can be used")
    };
    let described = read();
    let again = read();
    assert_eq!(described.ready, again.ready);
    let symbol = |function: &Value| {
        let name = function.get("symbol").unwrap_or(&function["name"]);
        name.as_str().map(str::to_owned)
    };
    // Allocating and freeing a structure is not in the header.
    let is_declared = |name: &String| {
        !matches!(name.as_str(), "calloc" | "free" | "memcpy" | "store" | "collected")
            || output.contains(name.as_str())
    };
    // One function with `...` may be described several times, for several types of what follows.
    let is_one = |function: &&Value| function.get("fixedParameters").is_none();
    let described_ones = described.ready.iter().chain(&described.undecided).filter(is_one);
    let described_ones = described_ones.filter_map(symbol).filter(is_declared);
    let others = described.impossible.iter().map(|(name, _)| name.clone());
    let mut names = HashSet::new();
    for name in described_ones.chain(others) {
        assert!(output.contains(&name), "`{name}` is not in the header");
        assert!(names.insert(name.clone()), "`{name}` is there twice");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
