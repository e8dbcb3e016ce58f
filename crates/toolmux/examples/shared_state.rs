//! Tools that share state: a shop whose stock both of them see. `cargo run --example shared_state`.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::RwLock;
use toolmux::{Server, ToolError, Toolkit, tool};

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// What to buy.
    item: String,
    /// How many, at least one.
    #[schemars(range(min = 1))]
    count: u32,
}

struct Shop {
    stock: RwLock<BTreeMap<String, u32>>,
}

impl Shop {
    async fn stock(self: Arc<Self>) -> Result<BTreeMap<String, u32>, ToolError> {
        Ok(self.stock.read().await.clone())
    }

    /// Returns how many are left.
    async fn buy(self: Arc<Self>, order: Order) -> Result<u32, ToolError> {
        let mut stock = self.stock.write().await;
        let there = stock.get_mut(&order.item).ok_or_else(|| ToolError::new("there is no such item"))?;
        *there = there.checked_sub(order.count).ok_or_else(|| ToolError::new("there are not so many"))?;
        Ok(*there)
    }
}

/// Each closure holds the shop, and hands it on to each call.
pub(crate) fn toolkit() -> Toolkit {
    let shop = Arc::new(Shop { stock: RwLock::new(BTreeMap::from([("tea".to_owned(), 10)])) });
    let stock = {
        let shop = Arc::clone(&shop);
        move || Arc::clone(&shop).stock()
    };
    let buy = move |order: Order| Arc::clone(&shop).buy(order);
    Toolkit::new("Shop").tool(tool("stock", "How many of each item there are", stock).read_only()).tool(tool(
        "buy",
        "Buys some of an item",
        buy,
    ))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let listen = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9627".to_owned());
    println!("Shop serves on http://{listen}");
    Server::new().listen(listen).toolkit(toolkit()).run().await
}
