//! Invariants of OpenDyn documents, and of values on their way between JSON and the bytes of C.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::{Value, json};

use super::handles::{HandleTable, Owner, TableSettings, UsedHandles};
use super::plan::{Book, read};
use crate::fuzz_targets::Target;

pub(crate) const TARGETS: &[Target] = &[
    ("opendyn_document", document_examples, document),
    ("opendyn_arguments", argument_examples, arguments),
    ("opendyn_result", result_examples, result),
];

const ZLIB: &str = include_str!("../../../../examples/opendyn/zlib.opendyn.json");
const LIBM: &str = include_str!("../../../../examples/opendyn/libm.opendyn.json");
const SQLITE: &str = include_str!("../../../../examples/opendyn/sqlite3.opendyn.json");

/// The documents of our own examples, with some of their functions: a mutation hits more in a short text.
fn document_examples() -> Vec<Vec<u8>> {
    let shortened = |text: &str| {
        let mut document: Value = serde_json::from_str(text).expect("an example is JSON");
        document["functions"].as_array_mut().expect("a list").truncate(3);
        document.to_string().into_bytes()
    };
    [LIBM, ZLIB, SQLITE].map(shortened).to_vec()
}

/// The same text gives the same tools; each function is usable or named with a reason; a plan keeps to the bounds of C.
fn document(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let (book, faults) = read(text);
    assert_eq!(faults, read(text).1);
    let Some(book) = book else {
        assert!(!faults.is_empty(), "it cannot be used and nobody says why");
        return;
    };
    for planned in &book.functions {
        assert!(planned.function.parameters.len() <= toolmux_dylib_host::plan::MAX_PARAMETERS);
        assert!(planned.inputs.len() <= planned.function.parameters.len());
        assert!(planned.input().is_object() && planned.output().is_object());
    }
    assert!(book.unusable.iter().all(|(_, reason)| !reason.is_empty()), "{:?}", book.unusable);
}

/// Some of each: numbers, texts, bytes, arrays and objects.
static BOOK: LazyLock<Book> = LazyLock::new(|| {
    let (zlib, libm) = (read(ZLIB).0.expect("zlib is good"), read(LIBM).0.expect("libm is good"));
    Book { functions: zlib.functions.into_iter().chain(libm.functions).collect(), ..zlib }
});

/// No object is open: every handle is one that was never given.
static NO_HANDLES: LazyLock<Arc<HandleTable>> = LazyLock::new(|| {
    HandleTable::new(TableSettings { quota: 1, idle: Duration::MAX, closable: HashSet::new() })
});

/// The number of a function, and its arguments.
fn argument_examples() -> Vec<Vec<u8>> {
    let example = |(number, planned): (usize, &super::plan::Planned)| {
        let arguments = toolmux_core::example::example_arguments(&planned.input());
        json!([number, arguments]).to_string().into_bytes()
    };
    BOOK.functions.iter().enumerate().map(example).collect()
}

/// The same arguments give the same bytes, no more of them than the text is long, and unknown arguments none at all.
fn arguments(data: &[u8]) {
    let Ok(Value::Array(said)) = serde_json::from_slice(data) else { return };
    let [number, arguments] = &said[..] else { return };
    let number = usize::try_from(number.as_u64().unwrap_or_default()).unwrap_or_default();
    let Some(planned) = BOOK.functions.get(number) else { return };
    let encode = |arguments: &str| {
        let (mut scratch, mut out) = (Vec::new(), Vec::new());
        let mut used = UsedHandles::new(&NO_HANDLES, Owner { caller: "somebody", user: None, session: None });
        planned.encode(arguments, &mut used, &mut scratch, &mut out).map(|()| out)
    };
    let text = arguments.to_string();
    let encoded = encode(&text);
    assert_eq!(
        encoded.as_ref().ok(),
        encode(&text).as_ref().ok(),
        "the same arguments are encoded otherwise"
    );
    match encoded {
        Ok(bytes) => {
            assert!(
                bytes.len() <= 8 * text.len() + 16 * planned.feeds.len(),
                "{} bytes for {text}",
                bytes.len()
            );
            let known = |name: &String| planned.inputs.iter().any(|input| input.name == *name);
            assert!(arguments.as_object().is_some_and(|members| members.keys().all(known)), "{text}");
        }
        Err(error) => assert!(!error.message.is_empty()),
    }
}

/// The number of a function, and the bytes of a result.
fn result_examples() -> Vec<Vec<u8>> {
    let numbers = (0_u8..).take(BOOK.functions.len());
    let payload = [&[2_u8, 0, 0, 0, b'a', b'b'][..], &1_u64.to_le_bytes(), &[0; 8]].concat();
    numbers.map(|number| [&[number], &payload[usize::from(number % 3) * 3..]].concat()).collect()
}

/// Whatever a library writes becomes an object of JSON, linear in its size, or a fault.
fn result(data: &[u8]) {
    let Some((number, bytes)) = data.split_first() else { return };
    let Some(planned) = BOOK.functions.get(usize::from(*number)) else { return };
    for length in [bytes.len(), bytes.len().min(8), bytes.len().min(12)] {
        let Ok(decoded) = planned.decode(&bytes[..length], None, &BOOK.codes) else { continue };
        let value: Value = serde_json::from_str(&decoded.json).expect("a result is JSON");
        assert!(value.is_object(), "{value}");
        let codes: usize = BOOK.codes.values().map(String::len).max().unwrap_or_default();
        assert!(
            decoded.json.len() <= 32 * length + 128 * (planned.outputs.len() + 1) + codes,
            "{}",
            decoded.json
        );
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
