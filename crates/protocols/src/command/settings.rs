//! What may stand in the table of a source of commands, and what it says of each tool.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolmux_core::arguments::Arguments;
use toolmux_core::ports::source::SourceError;
use toolmux_core::refusal::{ParameterError, Refusal};
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Hints, Tool};

use super::template::{fill, option_made_by, placeholders};
use crate::child::SandboxSetting;
use crate::registry::OpenError;

/// Commands as tools.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandSettings {
    /// The tools, by name.
    pub(super) tools: BTreeMap<String, CommandTool>,
    /// The working directory of all of them; relative to the configuration file. Default: the folder of that file.
    #[serde(default)]
    folder: Option<PathBuf>,
    /// Environment variables for all of them, in addition to a small inherited set. Default: none.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// Maximum size of the output, in bytes.
    #[serde(default = "most_output")]
    pub(super) max_output: usize,
    /// What the commands may do: `off` (the default): everything the server's user may; `deny`: only compute
    /// and read the system's programs; or a table of what is allowed beyond `deny`.
    #[serde(default)]
    pub(super) sandbox: SandboxSetting,
}

/// One command as a tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandTool {
    /// What the tool does, for people and models.
    description: String,
    /// Program and arguments. `{name}` is replaced by the argument of that name; a word with an absent optional
    /// argument is left out. No shell is involved.
    pub(super) command: Vec<String>,
    /// JSON Schema of each parameter; one with a `default` or with `required = false` is optional.
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
    /// Names of further optional parameters.
    #[serde(default)]
    optional: Vec<String>,
    /// What the command reads from standard input: `nothing` (the default), or the arguments as one JSON object.
    #[serde(default)]
    pub(super) input: Input,
    /// What the command prints: `text` (the default), or one JSON value.
    #[serde(default)]
    pub(super) output: Printed,
    /// Exit statuses with which the command succeeded: `[0, 1]` for `grep`, which exits with 1 if nothing matches.
    #[serde(default = "success_codes")]
    success_codes: Vec<u8>,
    /// The working directory of this command; relative to the configuration file. Default: that of the source.
    #[serde(default)]
    folder: Option<PathBuf>,
    /// The tool changes nothing. Default: unknown, which clients treat as `false`.
    #[serde(default)]
    read_only: Option<bool>,
    /// Allows words that begin with an argument to begin with `-`, even if no `--` precedes them. Only for
    /// programs that do not read such a word as an option.
    #[serde(default)]
    dashes: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Input {
    #[default]
    Nothing,
    Json,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Printed {
    #[default]
    Text,
    Json,
}

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

fn most_output() -> usize {
    1 << 20
}

fn success_codes() -> Vec<u8> {
    vec![0]
}

impl CommandSettings {
    /// The same once it is known that every tool can be run, with parameters as JSON Schema has them.
    pub(super) fn checked(mut self, folder: &Path) -> Result<Self, OpenError> {
        let own = self.folder.as_deref().unwrap_or(Path::new(""));
        for (name, tool) in &mut self.tools {
            tool.folder = Some(folder.join(tool.folder.as_deref().unwrap_or(own)));
            tool.check(name)?;
            tool.take_required();
        }
        Ok(self)
    }
}

impl CommandTool {
    fn check(&self, name: &str) -> Result<(), OpenError> {
        if self.command.is_empty() {
            return Err(OpenError::new(format!("tool `{name}` has an empty `command`")));
        }
        if self.success_codes.is_empty() {
            let what = format!("tool `{name}` has empty `success_codes`, so that it could only fail");
            return Err(OpenError::new(what).hint("success_codes = [0]"));
        }
        if !self.folder().is_dir() {
            let what = format!("tool `{name}` has a `folder` that is not there");
            return Err(OpenError::new(what).hint("paths are relative to the configuration file"));
        }
        for (parameter, schema) in &self.parameters {
            check_schema(schema).map_err(|why| {
                OpenError::new(format!("parameter `{parameter}` of tool `{name}`: {why}"))
                    .hint(format!("{parameter} = {{ type = \"string\" }}"))
            })?;
        }
        let named = self.command.iter().flat_map(|word| placeholders(word));
        let mut named = named.chain(self.optional.iter().map(String::as_str));
        if named.any(|parameter| !self.parameters.contains_key(parameter)) {
            let what =
                format!("tool `{name}` uses a name in `command` or `optional` that is not a parameter");
            return Err(OpenError::new(what).hint("add `NAME = { type = \"string\" }` to its `parameters`"));
        }
        Ok(())
    }

    /// `required = true` or `false` next to the schema of a parameter, where JSON Schema has a list of names instead.
    fn take_required(&mut self) {
        for (name, schema) in &mut self.parameters {
            let Some(members) = schema.as_object_mut() else { continue };
            let Some(required) = members.get("required").and_then(Value::as_bool) else { continue };
            members.shift_remove("required");
            if !required && !self.optional.contains(name) {
                self.optional.push(name.clone());
            }
        }
    }

    /// Where it runs.
    pub(super) fn folder(&self) -> &Path {
        self.folder.as_deref().unwrap_or(Path::new("."))
    }

    /// Whether a command that ended with this status did what it should.
    pub(super) fn is_success(&self, status: ExitStatus) -> bool {
        status.code().is_some_and(|code| self.success_codes.iter().any(|good| i32::from(*good) == code))
    }

    /// The tool as it is served.
    pub(super) fn described(&self, name: &str) -> Tool {
        let properties: Map<String, Value> = self.parameters.clone().into_iter().collect();
        let may_lack =
            |name: &String, schema: &Value| self.optional.contains(name) || schema.get("default").is_some();
        let required = self.parameters.iter().filter(|(name, schema)| !may_lack(name, schema));
        let required: Vec<&String> = required.map(|(name, _)| name).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
        let mut described = Tool::new(name, self.description.as_str(), Schema::new(schema));
        described.hints = Hints { read_only: self.read_only, ..Hints::default() };
        described
    }

    /// The arguments, with the defaults of those left out.
    pub(super) fn completed<'a>(&self, given: &'a Arguments) -> Cow<'a, Arguments> {
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
    pub(super) fn command_line(&self, arguments: &Arguments) -> Result<Vec<String>, SourceError> {
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

/// What is wrong with the schema of a parameter that somebody wrote by hand. The words name no value.
fn check_schema(schema: &Value) -> Result<(), String> {
    let members = schema.as_object().ok_or("it must be a table")?;
    let kinds = match members.get("type") {
        None => Vec::new(),
        Some(Value::Array(kinds)) => kinds.iter().collect(),
        Some(kind) => vec![kind],
    };
    if !kinds.iter().all(|kind| kind.as_str().is_some_and(|kind| TYPES.contains(&kind))) {
        return Err(format!("`type` must be one of {}", TYPES.join(", ")));
    }
    members.get("items").filter(|items| items.is_object()).map_or(Ok(()), check_schema)?;
    let properties = members.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(Map::values)
        .filter(|schema| schema.is_object())
        .try_for_each(check_schema)
}

fn taken_for_option(parameter: &str) -> SourceError {
    let message =
        "must not begin with `-`: the command would take it for an option; whoever configures the tool can \
                   put a word `--` before it in `command`, or set `dashes = true`"
            .to_owned();
    let parameters = vec![ParameterError { parameter: parameter.to_owned(), message }];
    SourceError::Refused(Refusal::Invalid { parameters })
}
