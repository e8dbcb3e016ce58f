use schemars::JsonSchema;
use serde::Deserialize;
use toolmux::{Server, ToolError, Toolkit};

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
}

async fn add(numbers: Numbers) -> Result<f64, ToolError> {
    Ok(numbers.a + numbers.b)
}

async fn divide(numbers: Numbers) -> Result<f64, ToolError> {
    if numbers.b == 0.0 {
        return Err(ToolError::new("cannot divide by zero"));
    }
    Ok(numbers.a / numbers.b)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let calculator = Toolkit::new("Calculator").tool("add", "Adds two numbers", add).tool(
        "divide",
        "Divides the first number by the second",
        divide,
    );
    Server::new().toolkit(calculator).run().await
}
