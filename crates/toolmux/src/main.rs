//! The command line.

fn main() -> std::process::ExitCode {
    toolmux::become_worker_if_asked();
    toolmux::cli::main()
}
