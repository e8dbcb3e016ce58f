//! One shell for a page, so that a variable, a folder or a server of one block is there for the next. All that it started
//! ends with it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::expected;
use super::place::Place;

/// For one command, or for a server to say that it is ready.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(90);
/// For everything that was started to end in peace.
const FAREWELL: Duration = Duration::from_secs(15);
/// For a server to stop by itself, before it is told again.
const PATIENCE: Duration = Duration::from_millis(300);
const POLL: Duration = Duration::from_millis(20);

pub(super) struct Shell {
    bash: Child,
    input: Option<ChildStdin>,
    statuses: Receiver<String>,
    files: ShellFiles,
    timeout: Duration,
    count: usize,
    last: i32,
}

/// The folder of the commands and of what they print.
pub(super) struct ShellFiles {
    pub(super) here: PathBuf,
    /// The same folder as the shell sees it, which may have another root.
    pub(super) there: PathBuf,
}

/// How a command ended and what it printed.
pub(super) struct Ended {
    pub(super) status: i32,
    pub(super) output: String,
}

impl Shell {
    pub(super) fn start(place: &Place) -> anyhow::Result<Self> {
        let files = ShellFiles { here: place.said(), there: place.said() };
        Self::of(place.bash()?, files, COMMAND_TIMEOUT)
    }

    /// A shell that a command starts; each of its own commands may take `timeout`.
    pub(super) fn of(mut command: Command, files: ShellFiles, timeout: Duration) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).process_group(0);
        let mut bash = command.spawn().context("cannot start bash")?;
        let output = bash.stdout.take().context("bash has no output")?;
        let (sender, statuses) = channel();
        // Ends with bash: its output is read to the end.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = bash.stdin.take();
        Ok(Self { bash, input, statuses, files, timeout, count: 0, last: 0 })
    }

    /// Runs a command to its end.
    pub(super) fn run(&mut self, command: &str) -> anyhow::Result<Ended> {
        let output = self.send(command, ";")?;
        let status = self.status().with_context(|| fs::read_to_string(&output).unwrap_or_default())?;
        self.last = status;
        Ok(Ended { status, output: fs::read_to_string(output)? })
    }

    /// Starts a command that goes on, and waits until it has begun as expected; gives what it said by then.
    pub(super) fn serve(&mut self, command: &str, expected: &[String]) -> anyhow::Result<String> {
        let output = self.send(command, "&")?;
        self.status()?;
        let ready = |text: &str| match expected {
            [] => text.contains(" serves "),
            lines => expected::begins(lines, text),
        };
        let start = Instant::now();
        loop {
            let text = fs::read_to_string(&output)?;
            if ready(&text) {
                return Ok(text);
            }
            if start.elapsed() > self.timeout {
                bail!("it did not begin as expected within {:?}, but said:\n{text}", self.timeout);
            }
            thread::sleep(POLL);
        }
    }

    /// Gives the file with the output.
    fn send(&mut self, command: &str, end: &str) -> anyhow::Result<PathBuf> {
        self.count += 1;
        let names = [format!("{}.sh", self.count), format!("{}.out", self.count)];
        let [script, output] = names.clone().map(|name| self.files.here.join(name));
        fs::write(&script, command)?;
        fs::write(&output, "")?;
        let line = format!(
            "(exit {}); {{ . '{}'; }} >'{}' 2>&1 </dev/null {end} echo $?\n",
            self.last,
            self.files.there.join(&names[0]).display(),
            self.files.there.join(&names[1]).display()
        );
        self.input.as_mut().context("bash is gone")?.write_all(line.as_bytes())?;
        Ok(output)
    }

    fn status(&mut self) -> anyhow::Result<i32> {
        let line = self
            .statuses
            .recv_timeout(self.timeout)
            .with_context(|| format!("no end within {:?}", self.timeout))?;
        Ok(line.trim().parse()?)
    }

    /// The processes that the shell started and that have no group of their own.
    fn end_group(&mut self) {
        let Some(group) = i32::try_from(self.bash.id()).ok().and_then(Pid::from_raw) else { return };
        drop(self.input.take());
        // A server ends at once on the second signal. What is gone already needs no signal.
        let _ = kill_process_group(group, Signal::TERM);
        let start = Instant::now();
        let mut hurried = false;
        while start.elapsed() < FAREWELL {
            if !hurried && start.elapsed() > PATIENCE {
                hurried = true;
                let _ = kill_process_group(group, Signal::TERM);
            }
            let _ = self.bash.try_wait();
            if test_kill_process_group(group).is_err() {
                return;
            }
            thread::sleep(POLL);
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.bash.wait();
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.end_group();
    }
}
