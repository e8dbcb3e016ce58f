//! Arguments of a call, over OXP: every shape that a reader or a validator may find hard. Sizes count values, or bytes of
//! a text.

use super::call;
use crate::cost::{Case, Input};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "arguments-wide",
        about: "an object of many keys",
        smallest: 4_000,
        input: Input::Request(wide),
    },
    Case {
        name: "arguments-deep",
        about: "lists inside lists, many of them",
        smallest: 100,
        input: Input::Request(deep),
    },
    Case {
        name: "arguments-repeated",
        about: "one key again and again",
        smallest: 4_000,
        input: Input::Request(repeated),
    },
    Case {
        name: "arguments-text",
        about: "a long text of escapes",
        smallest: 64 << 10,
        input: Input::Request(text),
    },
    Case {
        name: "arguments-long-name",
        about: "a long name above many faults",
        smallest: 32 << 10,
        input: Input::Request(long_name),
    },
    Case {
        name: "faults-items",
        about: "a list whose every item is wrong",
        smallest: 4_000,
        input: Input::Request(|n| texts("integers", n)),
    },
    Case {
        name: "faults-any-of",
        about: "the same for four alternatives",
        smallest: 4_000,
        input: Input::Request(|n| texts("alternatives", n)),
    },
    Case {
        name: "faults-nested",
        about: "oneOf, anyOf and not inside each other",
        smallest: 4_000,
        input: Input::Request(|n| texts("nested", n)),
    },
    Case {
        name: "faults-unevaluated",
        about: "unevaluatedItems of alternatives",
        smallest: 4_000,
        input: Input::Request(|n| texts("unevaluated", n)),
    },
    Case {
        name: "unique-items",
        about: "uniqueItems and contains",
        smallest: 4_000,
        input: Input::Request(unique),
    },
    Case {
        name: "property-names",
        about: "propertyNames and patternProperties",
        smallest: 4_000,
        input: Input::Request(names),
    },
    Case {
        name: "pattern",
        about: "a text against a pattern",
        smallest: 32 << 10,
        input: Input::Request(|n| letters("pattern", n)),
    },
    Case {
        name: "pattern-looking-around",
        about: "a text against a pattern that looks around",
        smallest: 1 << 10,
        input: Input::Request(|n| letters("looking", n)),
    },
    Case {
        name: "recursive-schema",
        about: "each level checked twice as often",
        smallest: 10,
        input: Input::Request(recursive),
    },
];

fn wide(n: usize) -> Vec<u8> {
    let members: Vec<String> = (0..n).map(|at| format!("\"key{at}\":{at}")).collect();
    call("anything", &format!("{{{}}}", members.join(",")))
}

fn deep(n: usize) -> Vec<u8> {
    let one = format!("{}{}", "[".repeat(100), "]".repeat(100));
    call("anything", &format!("[{}]", vec![one; n].join(",")))
}

fn repeated(n: usize) -> Vec<u8> {
    call("anything", &format!("[{}{{\"a\":1,\"a\":2}}]", "{\"a\":1},".repeat(n)))
}

fn text(n: usize) -> Vec<u8> {
    call("anything", &format!("\"{}\"", "\\u00e9\\n".repeat(n / 8)))
}

fn long_name(n: usize) -> Vec<u8> {
    let items = vec!["1"; 2_000].join(",");
    call("recursive", &format!("[{{\"{}\":[{items}]}}]", "n".repeat(n)))
}

fn texts(tool: &str, n: usize) -> Vec<u8> {
    call(tool, &format!("[{}\"\"]", "\"\",".repeat(n)))
}

fn unique(n: usize) -> Vec<u8> {
    let items: Vec<String> = (0..n).map(|at| format!("{{\"a\":{at}}}")).collect();
    call("unique", &format!("[{}]", items.join(",")))
}

fn names(n: usize) -> Vec<u8> {
    let members: Vec<String> = (0..n).map(|at| format!("\"name{at}\":{at}")).collect();
    call("names", &format!("{{{}}}", members.join(",")))
}

fn letters(tool: &str, n: usize) -> Vec<u8> {
    call(tool, &format!("\"{}!\"", "a".repeat(n)))
}

fn recursive(n: usize) -> Vec<u8> {
    call("recursive", &format!("{}1{}", "[".repeat(n), "]".repeat(n)))
}
