//! Two Rust functions, served to any agent: `cargo run --example calculator`.

use schemars::JsonSchema;
use serde::Deserialize;
use toolmux::{Server, ToolError, Toolkit, tool};

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: f64,
    b: f64,
}

async fn add(numbers: Numbers) -> Result<f64, ToolError> {
    Ok(numbers.a + numbers.b)
}

async fn divide(numbers: Numbers) -> Result<f64, ToolError> {
    let quotient = numbers.a / numbers.b;
    if quotient.is_finite() { Ok(quotient) } else { Err(ToolError::new("cannot divide by zero")) }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let calculator = Toolkit::new("Calculator")
        .tool(tool("add", "Adds two numbers", add).read_only())
        .tool(tool("divide", "Divides the first number by the second", divide).read_only());
    let listen = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9627".to_owned());
    println!("Calculator serves on http://{listen}");
    Server::new().listen(listen).toolkit(calculator).run().await
}
