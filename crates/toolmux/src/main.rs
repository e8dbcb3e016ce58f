//! The command line.

fn main() -> std::process::ExitCode {
    toolmux::cli::main()
}
