//! Runs a command per call: arguments become words of its command line or JSON on its input, what it
//! prints becomes the value.

use std::borrow::Cow;
use std::sync::Arc;

use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use toolmux_core::BoxFuture;
use toolmux_core::answer_memory::answer_takes;
use toolmux_core::call::Call;
use toolmux_core::json_text::to_raw;
use toolmux_core::message::Message;
use toolmux_core::outcome::{Outcome, ToolError};
use toolmux_core::ports::figures::{ProcessCounters, SourceFigures};
use toolmux_core::ports::source::{FailureScope, Listing, Source, SourceError};
use toolmux_core::progress::{Progress, Update};
use toolmux_core::refusal::{ParameterError, Refusal};
use toolmux_core::tool::Tool;

use super::ended::{Ended, not_utf8, outcome};
use super::settings::{CommandSettings, Input};
use crate::child::ChildSandbox;
use crate::child::{ChildGroup, Program};
use crate::registry::{Detection, OpenError, Opening, SourceKind};

pub(crate) const SOURCE: SourceKind = SourceKind {
    kind: "command",
    settings: || schemars::schema_for!(CommandSettings),
    open,
    asks_for_tokens: |_| false,
    detection: Detection::NONE,
};

/// How much room there is at least for each read.
const READ_AT_ONCE: usize = 8 << 10;

struct Commands {
    settings: CommandSettings,
    sandbox: Option<ChildSandbox>,
    processes: Arc<ProcessCounters>,
}

fn open(opening: &Opening<'_>) -> Result<Arc<dyn Source>, OpenError> {
    let settings: CommandSettings = opening.settings()?;
    let settings = settings.checked(opening.folder)?;
    let sandbox = settings.sandbox.open(opening.folder)?;
    Ok(Arc::new(Commands { settings, sandbox, processes: Arc::default() }))
}

impl Source for Commands {
    fn figures(&self) -> SourceFigures {
        SourceFigures::of_processes(self.processes.figures())
    }

    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async {
            if let Some(sandbox) = &self.sandbox {
                sandbox.check().await.map_err(SourceError::NotReached)?;
            }
            let tools: Vec<Tool> =
                self.settings.tools.iter().map(|(name, tool)| tool.described(name)).collect();
            Ok(tools.into())
        })
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(self.run(call, progress))
    }

    /// Each call starts a process of its own.
    fn failure_scope(&self) -> FailureScope {
        FailureScope::Tool
    }
}

impl Commands {
    /// Dropping the future kills the command with all its descendants.
    async fn run(&self, call: &Call, progress: &Progress) -> Result<Outcome, SourceError> {
        let tool = self.settings.tools.get(call.tool_name()).ok_or_else(|| {
            SourceError::NotReached(Message::public(format!("There is no command `{}`", call.tool_name())))
        })?;
        let arguments = tool.completed(call.arguments());
        let argv = tool.command_line(&arguments)?;
        let mut env = Cow::Borrowed(&self.settings.env);
        for (name, secret) in call.environment() {
            env.to_mut().insert(name.to_owned(), secret.expose().to_owned());
        }
        if let Some(trace) = call.outgoing_trace() {
            let env = env.to_mut();
            env.insert("TRACEPARENT".to_owned(), trace.context.traceparent());
            env.extend(trace.state.map(|state| ("TRACESTATE".to_owned(), state.into())));
        }
        let (folder, sandbox) = (tool.folder(), self.sandbox.as_ref());
        let program = Program { argv: &argv, env: &env, folder, sandbox };
        let group = ChildGroup::start(&program).inspect_err(|_| self.processes.failed());
        let mut group = group.map_err(|error| not_started(&error))?.counted_by(&self.processes);
        let input = (tool.input == Input::Json).then(|| arguments.text().get().as_bytes());
        let ended = self.finish(&mut group, input.unwrap_or_default()).await;
        // Descendants that outlive the command do not outlive the call.
        group.signal(Signal::KILL);
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                return Ok(Outcome::Failed(ToolError::new(format!("`{}` failed: {error}", argv[0]))));
            }
        };
        match group.not_launched(ended.status, &ended.stderr) {
            Some(why) => {
                let message = Message::public("The command cannot be started in its sandbox").developer(why);
                Err(SourceError::NotReached(message))
            }
            None => {
                tell_if_not_utf8(call, &argv[0], &ended.stdout, progress).await;
                Ok(outcome(&argv[0], tool, &ended))
            }
        }
    }

    async fn finish(&self, group: &mut ChildGroup, input: &[u8]) -> std::io::Result<Ended> {
        let most = self.settings.max_output;
        let (stdin, stdout, stderr) =
            (group.child.stdin.take(), group.child.stdout.take(), group.child.stderr.take());
        let write = async move {
            if let Some(mut stdin) = stdin {
                // A command that does not read its input is within its rights.
                stdin.write_all(input).await.ok();
            }
        };
        let ((), stdout, stderr) = tokio::join!(write, read(stdout, most), read(stderr, most));
        let status = group.child.wait().await?;
        Ok(Ended { status, stdout: stdout?, stderr: stderr? })
    }
}

/// Whoever follows the call, and the log, are told that a value is not quite what was printed.
async fn tell_if_not_utf8(call: &Call, program: &str, stdout: &[u8], progress: &Progress) {
    let Some(what) = not_utf8(program, stdout) else { return };
    tracing::warn!(tool = call.tool_name(), "{what}");
    if let Ok(data) = to_raw(&what) {
        progress.send(Update::Log { level: "warning".to_owned(), data }).await;
    }
}

/// Words that no command line can hold are the caller's; anything else is the command's.
fn not_started(error: &std::io::Error) -> SourceError {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::ArgumentListTooLong => {
            let message =
                "cannot be a command-line argument: it is too long or contains a NUL character".to_owned();
            let parameters = vec![ParameterError { parameter: String::new(), message }];
            SourceError::Refused(Refusal::Invalid { parameters })
        }
        _ => SourceError::NotReached(Message::public("The command cannot be started").caused_by(error)),
    }
}

async fn read(stream: Option<impl AsyncRead + Unpin>, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        let mut stream = stream.take(most as u64 + 1);
        while stream.read_buf(&mut bytes).await? > 0 {
            answer_takes(bytes.len()).map_err(std::io::Error::other)?;
            bytes.reserve(READ_AT_ONCE);
        }
    }
    if bytes.len() > most {
        return Err(std::io::Error::other(format!(
            "it printed more than {most} bytes, which is `max_output`"
        )));
    }
    Ok(bytes)
}
