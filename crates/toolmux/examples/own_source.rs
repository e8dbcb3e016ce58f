//! A source of one's own: each `NAME.txt` of a folder is a tool that fills in the `{words}` of its text.
//! `cargo run --example own_source -- FOLDER`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use toolmux::Server;
use toolmux::serde_json::{Map, Value, json};
use toolmux::source::{
    BoxFuture, Call, Hints, Listing, Message, Outcome, Output, Progress, Schema, Source, SourceError, Tool,
};

/// A folder of texts with `{words}` to be filled in.
pub(crate) struct Templates {
    pub(crate) folder: PathBuf,
}

impl Source for Templates {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async {
            let mut tools = Vec::new();
            let mut files = tokio::fs::read_dir(&self.folder).await.map_err(not_read)?;
            while let Some(file) = files.next_entry().await.map_err(not_read)? {
                let path = file.path();
                let (Some(name), Some("txt")) = (
                    path.file_stem().and_then(|name| name.to_str()),
                    path.extension().and_then(|extension| extension.to_str()),
                ) else {
                    continue;
                };
                tools.push(describe(name, &tokio::fs::read_to_string(&path).await.map_err(not_read)?));
            }
            Ok(tools.into())
        })
    }

    /// The arguments have been checked against the schema of the tool, and its name is one that was listed.
    fn call<'a>(
        &'a self,
        call: &'a Call,
        _progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(async move {
            let file = self.folder.join(format!("{}.txt", call.tool_name()));
            let text = tokio::fs::read_to_string(file).await.map_err(not_read)?;
            let filled = fill_in(&text, call.arguments().map());
            Ok(Output::of(&filled).map_or_else(|error| Outcome::Failed(error.into()), Outcome::Returned))
        })
    }
}

fn describe(name: &str, text: &str) -> Tool {
    let words = words(text);
    let properties: Map<_, _> =
        words.iter().map(|word| (word.clone(), json!({ "type": "string" }))).collect();
    let input = json!({ "type": "object", "properties": properties, "required": words });
    let mut tool = Tool::new(name, format!("Fills in: {}", text.trim()), Schema::new(input));
    tool.hints = Hints { read_only: Some(true), ..Hints::default() };
    tool
}

fn words(text: &str) -> BTreeSet<String> {
    text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect()
}

fn fill_in(text: &str, arguments: &Map<String, Value>) -> String {
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let word = part.split_once('}').and_then(|(word, rest)| Some([arguments.get(word)?.as_str()?, rest]));
        filled.push_str(&word.map_or_else(|| format!("{{{part}"), |pieces| pieces.concat()));
    }
    filled
}

/// The tool did not run, so the gateway may try again.
fn not_read(error: std::io::Error) -> SourceError {
    SourceError::NotReached(Message::public("The folder of texts cannot be read").caused_by(&error))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()).into();
    Server::new().source("Templates", Arc::new(Templates { folder })).run().await
}
