//! Runs a command per call: arguments become words of its command line or JSON on its input, what it
//! prints becomes the value.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;

use rustix::process::Signal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use toolmux_core::BoxFuture;
use toolmux_core::answer_memory::answer_takes;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Call;
use toolmux_core::json_text::{RawJson, to_raw};
use toolmux_core::message::Message;
use toolmux_core::outcome::{Outcome, Output, ToolError};
use toolmux_core::ports::source::{FailureScope, Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::redact::redacted;
use toolmux_core::refusal::{ParameterError, Refusal};
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Hints, Tool};

use super::template::{fill, option_made_by, placeholders};
use crate::child::exit_status;
use crate::child::{ChildGroup, Program};
use crate::child::{ChildSandbox, SandboxSetting};
use crate::registry::{Detection, OpenError, Opening, SourceKind};

pub(crate) const SOURCE: SourceKind = SourceKind {
    kind: "command",
    settings: || schemars::schema_for!(CommandSettings),
    open,
    asks_for_tokens: |_| false,
    detection: Detection::NONE,
};

/// Commands as tools.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CommandSettings {
    /// The tools, by name.
    tools: BTreeMap<String, CommandTool>,
    /// Environment variables for all of them, in addition to a small inherited set.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Maximum size of the output, in bytes.
    #[serde(default = "most_output")]
    max_output: usize,
    /// What the commands may do: `off` (the default): everything the server's user may; `deny`: only compute
    /// and read the system's programs; or a table of what is allowed beyond `deny`.
    #[serde(default)]
    sandbox: SandboxSetting,
}

/// One command as a tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CommandTool {
    /// What the tool does, for people and models.
    description: String,
    /// Program and arguments. `{name}` is replaced by the argument of that name; a word with an absent optional
    /// argument is left out. No shell is involved.
    command: Vec<String>,
    /// JSON Schema of each parameter; one with a `default` is optional.
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
    /// Names of further optional parameters.
    #[serde(default)]
    optional: Vec<String>,
    /// What the command reads: nothing, or the arguments as one JSON object.
    #[serde(default)]
    input: Input,
    /// What the command prints: text, or one JSON value.
    #[serde(default)]
    output: Printed,
    /// The tool changes nothing.
    #[serde(default)]
    read_only: Option<bool>,
    /// Allows words that begin with an argument to begin with `-`, even if no `--` precedes them. Only for
    /// programs that do not read such a word as an option.
    #[serde(default)]
    dashes: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Input {
    #[default]
    Nothing,
    Json,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Printed {
    #[default]
    Text,
    Json,
}

/// How many letters of what a command printed are told when it failed: the last ones say why.
const MOST_TOLD: usize = 4_000;

/// How much room there is at least for each read.
const READ_AT_ONCE: usize = 8 << 10;

fn most_output() -> usize {
    1 << 20
}

struct Commands {
    settings: CommandSettings,
    folder: PathBuf,
    sandbox: Option<ChildSandbox>,
}

fn open(opening: &Opening<'_>) -> Result<Arc<dyn Source>, OpenError> {
    let settings: CommandSettings = opening.settings()?;
    for (name, tool) in &settings.tools {
        check(name, tool)?;
    }
    let sandbox = settings.sandbox.open(opening.folder)?;
    Ok(Arc::new(Commands { settings, folder: opening.folder.to_owned(), sandbox }))
}

fn check(name: &str, tool: &CommandTool) -> Result<(), OpenError> {
    if tool.command.is_empty() {
        return Err(OpenError::new(format!("tool `{name}` has an empty `command`")));
    }
    let unknown = tool
        .command
        .iter()
        .flat_map(|word| placeholders(word))
        .chain(tool.optional.iter().map(String::as_str))
        .find(|parameter| !tool.parameters.contains_key(*parameter));
    match unknown {
        Some(_) => {
            let what =
                format!("tool `{name}` uses a name in `command` or `optional` that is not a parameter");
            Err(OpenError::new(what).hint("add `NAME = { type = \"string\" }` to its `parameters`"))
        }
        None => Ok(()),
    }
}

fn describe((name, tool): (&String, &CommandTool)) -> Tool {
    let properties: Map<String, Value> = tool.parameters.clone().into_iter().collect();
    let may_lack =
        |name: &String, schema: &Value| tool.optional.contains(name) || schema.get("default").is_some();
    let required: Vec<&String> = tool
        .parameters
        .iter()
        .filter(|(name, schema)| !may_lack(name, schema))
        .map(|(name, _)| name)
        .collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let mut described = Tool::new(name.as_str(), tool.description.as_str(), Schema::new(schema));
    described.hints = Hints { read_only: tool.read_only, ..Hints::default() };
    described
}

impl CommandTool {
    /// The arguments, with the defaults of those left out.
    fn completed<'a>(&self, given: &'a Arguments) -> Cow<'a, Arguments> {
        let defaults =
            self.parameters.iter().filter_map(|(name, schema)| Some((name, schema.get("default")?)));
        let mut absent = defaults.filter(|(name, _)| !given.map().contains_key(*name)).peekable();
        if absent.peek().is_none() {
            return Cow::Borrowed(given);
        }
        let mut map = given.map().clone();
        map.extend(absent.map(|(name, default)| (name.clone(), default.clone())));
        Cow::Owned(Arguments::from_map(map))
    }

    /// The words of the command. The arguments are not looked into by a word that names none: they may be long.
    fn command_line(&self, arguments: &Arguments) -> Result<Vec<String>, SourceError> {
        let mut argv = Vec::with_capacity(self.command.len());
        let mut options_ended = self.dashes;
        for word in &self.command {
            options_ended |= word == "--";
            if placeholders(word).next().is_none() {
                argv.push(word.clone());
                continue;
            }
            let Some(filled) = fill(word, arguments.map()) else { continue };
            if !options_ended && let Some(parameter) = option_made_by(word, &filled, arguments.map()) {
                return Err(taken_for_option(parameter));
            }
            argv.push(filled);
        }
        Ok(argv)
    }
}

impl Source for Commands {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async {
            if let Some(sandbox) = &self.sandbox {
                sandbox.check().await.map_err(SourceError::NotReached)?;
            }
            let tools: Vec<Tool> = self.settings.tools.iter().map(describe).collect();
            Ok(tools.into())
        })
    }

    fn call<'a>(&'a self, call: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(self.run(call))
    }

    /// Each call starts a process of its own.
    fn failure_scope(&self) -> FailureScope {
        FailureScope::Tool
    }
}

impl Commands {
    /// Dropping the future kills the command with all its descendants.
    async fn run(&self, call: &Call) -> Result<Outcome, SourceError> {
        let tool = self.settings.tools.get(call.tool_name()).ok_or_else(|| {
            SourceError::NotReached(Message::public(format!("There is no command `{}`", call.tool_name())))
        })?;
        let arguments = tool.completed(call.arguments());
        let argv = tool.command_line(&arguments)?;
        let mut env = Cow::Borrowed(&self.settings.env);
        for (name, secret) in call.environment() {
            env.to_mut().insert(name.to_owned(), secret.expose().to_owned());
        }
        let (folder, sandbox) = (&*self.folder, self.sandbox.as_ref());
        let program = Program { argv: &argv, env: &env, folder, sandbox };
        let mut group = ChildGroup::start(&program).map_err(|error| not_started(&error))?;
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
            None => Ok(outcome(&argv[0], tool.output, &ended)),
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

fn taken_for_option(parameter: &str) -> SourceError {
    let message = "must not begin with `-`: the command would take it for an option; the operator can put \
                   `--` before it in `command`, or set `dashes = true`"
        .to_owned();
    let parameters = vec![ParameterError { parameter: parameter.to_owned(), message }];
    SourceError::Refused(Refusal::Invalid { parameters })
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

/// A command that has ended.
struct Ended {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

fn outcome(program: &str, printed: Printed, ended: &Ended) -> Outcome {
    if !ended.status.success() {
        return Outcome::Failed(ToolError::new(failure(program, ended)));
    }
    let text = String::from_utf8_lossy(&ended.stdout);
    match printed {
        Printed::Text => {
            Outcome::Returned(Output::value(to_raw(text.trim_end()).expect("a text is writable")))
        }
        Printed::Json => match serde_json::from_str::<RawJson>(text.trim()) {
            Ok(value) => Outcome::Returned(Output::value(value)),
            Err(error) => Outcome::Failed(ToolError::new(format!("`{program}` did not print JSON: {error}"))),
        },
    }
}

/// How it ended, and the end of what it printed: on its standard error, or on its output when there is nothing.
fn failure(program: &str, ended: &Ended) -> String {
    let how = exit_status::sentence(ended.status);
    let printed = if ended.stderr.trim_ascii().is_empty() { &ended.stdout } else { &ended.stderr };
    let printed = String::from_utf8_lossy(printed.trim_ascii());
    let printed = redacted(&printed);
    let tail = printed.char_indices().rev().nth(MOST_TOLD - 1).map_or(0, |(start, _)| start);
    match (&printed[tail..], tail) {
        ("", _) => format!("`{program}` {how} and printed nothing"),
        (text, 0) => format!("`{program}` {how}: {text}"),
        (text, _) => format!("`{program}` {how}: …{text}"),
    }
}
