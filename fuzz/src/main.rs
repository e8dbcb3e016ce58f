//! Every target of `cargo fuzz`: this file is built once for each, and runs the target that is called as the binary is.
//! What a target checks stands beside the parser it tries, in a file called `fuzz_targets.rs`.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static CHECK: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = env!("CARGO_BIN_NAME");
    let all = [
        toolmux_core::fuzz_targets::targets(),
        toolmux_dylib_host::fuzz_targets::targets(),
        toolmux_http::fuzz_targets::targets(),
        toolmux_protocols::fuzz_targets::targets(),
        toolmux::fuzz_targets::targets(),
    ];
    let found = all.concat().into_iter().find(|target| target.0 == name);
    found.unwrap_or_else(|| panic!("no crate has a fuzz target `{name}`")).2
});

fuzz_target!(|data: &[u8]| CHECK(data));
