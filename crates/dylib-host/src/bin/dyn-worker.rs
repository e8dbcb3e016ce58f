//! A worker and a launcher as an executable of their own, for the tests and the bench of this crate.

use toolmux_dylib_host::{launcher, worker};

fn main() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == launcher::ARGUMENT) {
        launcher::run();
    }
    worker::run()
}
