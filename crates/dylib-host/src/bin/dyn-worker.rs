//! A worker as an executable of its own, for the tests and the bench of this crate.

fn main() {
    toolmux_dylib_host::worker::run()
}
