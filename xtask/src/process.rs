//! Running other programs: every failure names the command line that failed.

use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// Runs to the end with our own output streams.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start `{}`", line(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", line(command));
    }
    Ok(())
}

/// Runs to the end and gives back what it wrote on standard output.
pub(crate) fn capture(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{}`", line(command)))?;
    if !output.status.success() {
        bail!("`{}` ended with {}", line(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{}` did not write UTF-8", line(command)))
}

/// Whether the program exists and is content; says nothing.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The command line as a person would type it.
pub(crate) fn line(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit('/').next().unwrap_or(&program).to_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    [name].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{capture, line, run, succeeds};
    use std::process::Command;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn failures_name_the_command_line() {
        let error = run(&mut shell("exit 3")).unwrap_err().to_string();
        assert_eq!(error, "`sh -c exit 3` ended with exit status: 3");
        let error = run(&mut Command::new("no-such-program")).unwrap_err().to_string();
        assert_eq!(error, "cannot start `no-such-program`");
    }

    #[test]
    fn output_is_given_back() {
        assert_eq!(capture(&mut shell("echo three")).unwrap(), "three\n");
        assert!(capture(&mut shell("exit 1")).is_err());
    }

    #[test]
    fn probing_is_quiet_and_never_fails() {
        assert!(succeeds(&mut shell("true")));
        assert!(!succeeds(&mut shell("false")));
        assert!(!succeeds(&mut Command::new("no-such-program")));
        assert_eq!(line(&shell("true")), "sh -c true");
    }
}
