//! The command line: one file per command. Data goes to stdout, all else to stderr.

mod add;
mod announce;
mod assembling;
mod auth;
mod call;
mod calls;
mod chat;
mod check;
mod closing;
mod completions;
mod connecting;
mod console_client;
mod credentials_offered;
mod db;
mod demo;
mod describe;
mod describe_diff;
mod describe_review;
mod detect;
mod docs;
mod doctor;
mod failure;
mod follow;
mod health;
mod init;
mod install_extras;
mod keys;
mod man;
mod mcp;
mod missing_program;
mod needed;
mod origin;
mod progress;
mod remote;
mod run;
mod serve;
mod served_operations;
mod start;
mod table;
mod tasks;
mod terminal;
mod tools;
mod why;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use self::closing::until_signal;
use self::failure::Failure;
use self::terminal::{ColourChoice, Form, Terminal};
use crate::environment::take_secrets;
use crate::process_hardening::harden;
use crate::redacted_log::RedactedLog;
use crate::telemetry::LogTap;

/// One binary that takes tools from anywhere and serves them to any agent.
#[derive(Parser)]
#[command(name = "toolmux", version, about, help_template = HELP, after_help = AFTER_HELP)]
#[command(arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    /// How log lines look: `pretty` or `json` [default: pretty].
    #[arg(long, global = true, value_enum, default_value_t = LogForm::Pretty)]
    #[arg(value_name = "FORM", hide_possible_values = true, hide_default_value = true)]
    log: LogForm,
    /// When to use colour: `always`, `never` or `auto` (on terminals, unless `NO_COLOR` is set)
    /// [default: auto].
    #[arg(long, global = true, value_enum, default_value_t = ColourChoice::Auto)]
    #[arg(value_name = "WHEN", hide_possible_values = true, hide_default_value = true)]
    color: ColourChoice,
}

/// How long what still runs in the background gets when a command has ended.
const SHUTDOWN: Duration = Duration::from_millis(200);
/// What is logged unless `RUST_LOG` says otherwise. The store logs an outage once; its connection pool would log every
/// connection that failed.
const LOGGED: &str = "info,sqlx_core::pool=off";

/// Every command on one screen; the help of each command has its options.
const HELP: &str = "\
{about}
Usage: toolmux COMMAND …   (toolmux COMMAND --help has examples)
{subcommands}{after-help}";

const AFTER_HELP: &str = "\
Options:  --log pretty|json  --color auto|always|never  -h  -V
Start:    toolmux serve -- npx -y @modelcontextprotocol/server-everything
Also:     start, follow, auth, db, health, completions, man, install-extras
Exit:     0 success, 1 tool failed, 2 usage or refused. RUST_LOG=debug: more.";

#[derive(Subcommand)]
enum Command {
    Serve(serve::Serve),
    Mcp(mcp::Mcp),
    Init(init::Init),
    Add(add::Add),
    Check(check::Check),
    Doctor(doctor::Doctor),
    Tools(tools::Tools),
    Call(call::CallTool),
    Calls(calls::Calls),
    #[command(hide = true)]
    Follow(follow::FollowTask),
    Tasks(tasks::Tasks),
    Run(run::RunWorkflow),
    Chat(chat::Chat),
    Describe(describe::Describe),
    #[command(hide = true)]
    Auth(auth::Auth),
    Keys(keys::Keys),
    #[command(hide = true)]
    Db(db::Db),
    Demo(demo::Demo),
    Docs(docs::Docs),
    #[command(hide = true)]
    InstallExtras(install_extras::InstallExtras),
    #[command(hide = true)]
    DemoServer(demo::DemoServer),
    #[command(hide = true)]
    Start(start::Start),
    #[command(hide = true)]
    Health(health::Health),
    #[command(hide = true)]
    Completions(completions::Completions),
    #[command(hide = true)]
    Man(man::Man),
}

#[derive(Clone, Copy, ValueEnum)]
enum LogForm {
    /// Lines of text.
    Pretty,
    /// One JSON object per line.
    Json,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    harden();
    let words = Cli::command().color(colour_of(std::env::args())).get_matches();
    let cli = Cli::from_arg_matches(&words).unwrap_or_else(|error| error.exit());
    // Before anything starts a thread: what is in the environment cannot be taken out of it later.
    cli.command.configurations().iter().for_each(|file| take_secrets(file));
    let notes = match cli.log {
        LogForm::Pretty => Form::People,
        LogForm::Json => Form::Programs,
    };
    let terminal = Terminal::of_process(cli.color, notes);
    start_log(cli.log, cli.command.logged(), &terminal);
    failure::shown_on(&terminal);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Failure::refused(error).report(),
    };
    let code = match runtime.block_on(cli.command.run(&terminal)) {
        Ok(code) => code,
        Err(failure) => {
            terminal.clear();
            failure.report()
        }
    };
    // Kills children that are left, and does not wait for a read of the terminal, which cannot be taken back.
    runtime.shutdown_timeout(SHUTDOWN);
    code
}

/// What `--color` says, for the words that are shown before the command line is understood.
fn colour_of(arguments: impl Iterator<Item = String>) -> clap::ColorChoice {
    let arguments: Vec<String> = arguments.take_while(|argument| argument != "--").collect();
    let told = |argument: &String| argument.strip_prefix("--color=").map(str::to_owned);
    let apart = || arguments.windows(2).find(|pair| pair[0] == "--color").map(|pair| pair[1].clone());
    match arguments.iter().find_map(told).or_else(apart).as_deref() {
        Some("always") => clap::ColorChoice::Always,
        Some("never") => clap::ColorChoice::Never,
        _ => clap::ColorChoice::Auto,
    }
}

impl Command {
    /// What is logged by default. A command for one call says itself what came of it.
    fn logged(&self) -> &'static str {
        match self {
            Command::Serve(_) | Command::Start(_) | Command::Mcp(_) => LOGGED,
            _ => "warn,sqlx_core::pool=off",
        }
    }

    /// The configurations whose sources the command may start.
    fn configurations(&self) -> Vec<PathBuf> {
        match self {
            Command::Serve(serve::Serve { origin, .. })
            | Command::Mcp(mcp::Mcp { origin, .. })
            | Command::Tools(tools::Tools { origin, .. }) => origin.configurations(),
            Command::Call(command) => vec![command.config.clone()],
            Command::Run(command) => vec![command.config.clone()],
            Command::Chat(command) => vec![command.config.clone()],
            Command::Doctor(command) => vec![command.config.clone()],
            Command::Start(command) => vec![command.config.clone()],
            Command::Init(_)
            | Command::Add(_)
            | Command::Check(_)
            | Command::Follow(_)
            | Command::Tasks(_)
            | Command::Describe(_)
            | Command::Auth(_)
            | Command::Calls(_)
            | Command::Keys(_)
            | Command::Db(_)
            | Command::Demo(_)
            | Command::DemoServer(_)
            | Command::Docs(_)
            | Command::InstallExtras(_)
            | Command::Health(_)
            | Command::Completions(_)
            | Command::Man(_) => Vec::new(),
        }
    }

    async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        match self {
            Command::Serve(command) => command.run(terminal).await,
            Command::Init(command) => command.run(),
            Command::Add(command) => command.run(terminal).await,
            Command::Doctor(command) => command.run(terminal).await,
            Command::Start(command) => command.run(terminal).await,
            Command::Tools(command) => command.run(terminal).await,
            Command::Call(command) => command.run(terminal).await,
            Command::Calls(command) => command.run(terminal).await,
            Command::Follow(command) => command.run(terminal).await,
            Command::Tasks(command) => command.run(terminal).await,
            Command::Run(command) => command.run(terminal).await,
            Command::Chat(command) => command.run().await,
            Command::Db(command) => command.run(terminal).await,
            Command::Check(command) => Ok(command.run()),
            Command::Describe(command) => until_signal(command.run()).await.flatten(),
            Command::Auth(command) => command.run(terminal).await,
            Command::Keys(command) => command.run(terminal).await,
            Command::Mcp(command) => command.run().await,
            Command::Demo(command) => command.run(terminal).await,
            Command::DemoServer(_) => demo::DemoServer::run().await,
            Command::Docs(command) => command.run(terminal).await,
            Command::InstallExtras(_) => install_extras::InstallExtras::run(),
            Command::Health(command) => command.run().await,
            Command::Completions(command) => Ok(command.run()),
            Command::Man(_) => man::Man::run(),
        }
    }
}

fn start_log(form: LogForm, logged: &str, terminal: &Terminal) {
    use tracing_subscriber::EnvFilter;
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::util::SubscriberInitExt;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(logged));
    let terminal = *terminal;
    let writer = move || {
        // A line that changes must not end up before one that stays.
        terminal.clear();
        RedactedLog(std::io::stderr())
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    // A log that nobody reads must not end the server.
    let log = log.log_internal_errors(false);
    match form {
        LogForm::Pretty => {
            log.with_ansi(terminal.err_colour).with_target(false).finish().with(LogTap::default()).init();
        }
        LogForm::Json => log.json().finish().with(LogTap::default()).init(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines and columns of the smallest terminal that people use.
    const SCREEN: (usize, usize) = (24, 80);

    #[test]
    fn the_help_fits_one_screen() {
        for help in [
            Cli::command().term_width(SCREEN.1).render_long_help().to_string(),
            Cli::command().term_width(SCREEN.1).render_help().to_string(),
        ] {
            assert!(help.lines().count() <= SCREEN.0, "{} lines: {help}", help.lines().count());
            for line in help.lines() {
                assert!(line.chars().count() <= SCREEN.1, "{line}");
            }
        }
    }

    #[test]
    fn every_command_has_an_example_in_its_help() {
        fn check(command: &mut clap::Command) {
            let name = command.get_name().to_owned();
            if command.has_subcommands() {
                command.get_subcommands_mut().filter(|below| below.get_name() != "help").for_each(check);
            }
            let help = command.render_long_help().to_string();
            assert!(help.contains("Example: toolmux ") || name == "toolmux", "{name}: {help}");
        }
        check(&mut Cli::command());
    }

    #[test]
    fn every_command_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn colour_is_known_before_the_rest() {
        let check = |words: &str, expect: clap::ColorChoice| {
            assert_eq!(colour_of(words.split(' ').map(str::to_owned)), expect, "{words}");
        };
        check("toolmux --color never serv", clap::ColorChoice::Never);
        check("toolmux serv --color=always", clap::ColorChoice::Always);
        check("toolmux serve -- x --color never", clap::ColorChoice::Auto);
    }
}
