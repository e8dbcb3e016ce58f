//! The command line: one file per command. Data goes to stdout, all else to stderr.

mod add;
mod announce;
mod auth;
mod call;
mod chat;
mod check;
mod completions;
mod connecting;
mod db;
mod describe;
mod detect;
mod doctor;
mod failure;
mod init;
mod man;
mod mcp;
mod origin;
mod progress;
mod run;
mod serve;
mod start;
mod table;
mod terminal;
mod tools;
mod why;

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use self::failure::Failure;
use self::terminal::{ColourChoice, Terminal};

/// One binary that takes tools from anywhere and serves them to any agent.
#[derive(Parser)]
#[command(name = "toolmux", version, about, after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    /// How log lines look.
    #[arg(long, global = true, value_enum, default_value_t = LogForm::Pretty)]
    log: LogForm,
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value_t = ColourChoice::Auto)]
    color: ColourChoice,
}

const AFTER_HELP: &str = "\
Start:    toolmux serve examples/quickstart/toolmux.toml
Try:      toolmux call Math.pow x=2 y=10 --config examples/quickstart/toolmux.toml
Exit:     0 good, 1 the tool failed, 2 usage or refused. RUST_LOG=debug shows more.";

#[derive(Subcommand)]
enum Command {
    Serve(serve::Serve),
    Init(init::Init),
    Add(add::Add),
    Doctor(doctor::Doctor),
    Start(start::Start),
    Tools(tools::Tools),
    Call(call::CallTool),
    Run(run::RunWorkflow),
    Check(check::Check),
    Describe(describe::Describe),
    Auth(auth::Auth),
    Mcp(mcp::Mcp),
    Chat(chat::Chat),
    Db(db::Db),
    Completions(completions::Completions),
    Man(man::Man),
}

#[derive(Clone, Copy, ValueEnum)]
enum LogForm {
    /// For people.
    Pretty,
    /// For programs: one JSON object a line.
    Json,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let terminal = Terminal::of_process(cli.color);
    start_log(cli.log, &terminal);
    failure::shown_on(&terminal);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Failure::refused(error).report(),
    };
    match runtime.block_on(cli.command.run(&terminal)) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

impl Command {
    async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        match self {
            Command::Serve(command) => command.run(terminal).await,
            Command::Init(command) => command.run(),
            Command::Add(command) => command.run(terminal).await,
            Command::Doctor(command) => command.run(terminal).await,
            Command::Start(command) => command.run(terminal).await,
            Command::Tools(command) => command.run(terminal).await,
            Command::Call(command) => command.run(terminal).await,
            Command::Run(command) => command.run().await,
            Command::Chat(command) => command.run().await,
            Command::Db(command) => command.run().await,
            Command::Check(command) => Ok(command.run()),
            Command::Describe(command) => command.run().await,
            Command::Auth(command) => command.run(terminal).await,
            Command::Mcp(command) => command.run().await,
            Command::Completions(command) => Ok(command.run()),
            Command::Man(_) => man::Man::run(),
        }
    }
}

fn start_log(form: LogForm, terminal: &Terminal) {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let terminal = *terminal;
    let writer = move || {
        // A line that changes must not end up before one that stays.
        terminal.clear();
        std::io::stderr()
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    match form {
        LogForm::Pretty => log.with_ansi(terminal.err_colour).with_target(false).init(),
        LogForm::Json => log.json().init(),
    }
}
