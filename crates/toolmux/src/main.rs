//! The command line.

/// Workers free what others allocated, which makes those of glibc wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    toolmux::become_worker_if_asked();
    toolmux::cli::main()
}
