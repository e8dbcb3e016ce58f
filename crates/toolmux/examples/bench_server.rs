//! The server that `cargo xtask bench` measures: `Calculator.add` among as many tools as asked.
//!
//!     bench_server --listen 127.0.0.1:0 --tools 10

use clap::Parser;
use schemars::JsonSchema;
use serde::Deserialize;
use toolmux::{Server, ToolError, Toolkit, tool};

/// The one of the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Arguments {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: String,
    /// How many tools the catalogue has.
    #[arg(long, default_value_t = 10)]
    tools: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
}

async fn add(numbers: Numbers) -> Result<i64, ToolError> {
    numbers.a.checked_add(numbers.b).ok_or_else(|| ToolError::new("the sum is too large"))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut calculator = Toolkit::new("Calculator").tool(tool("add", "Adds two numbers", add));
    for number in 1..arguments.tools {
        calculator = calculator.tool(tool(&format!("add_{number}"), "Adds two numbers", add));
    }
    let running = Server::new().listen(arguments.listen).toolkit(calculator).start().await?;
    eprintln!("listening on {}", running.url());
    tokio::signal::ctrl_c().await?;
    running.stop().await;
    Ok(())
}
