//! What came of a call whose tool ran.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::json_text::{RawJson, to_raw};
use crate::message::Message;
use crate::tool::Passthrough;

/// The tool ran: it returned, or it failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It gave a value.
    Returned(Output),
    /// It says that it could not do what was asked.
    Failed(ToolError),
}

impl Outcome {
    /// How many bytes it takes to keep it, nearly.
    pub fn bytes(&self) -> usize {
        let blocks = |content: &[Content]| content.iter().map(|c| c.json().get().len()).sum::<usize>();
        match self {
            Outcome::Returned(Output { value, content, extra }) => {
                value.get().len() + blocks(content) + extra.size()
            }
            Outcome::Failed(error) => {
                let texts = [error.message.developer.as_ref(), error.prompt.as_ref()];
                let texts: usize = texts.into_iter().flatten().map(String::len).sum();
                error.message.public.len() + texts + blocks(&error.content) + error.extra.size()
            }
        }
    }
}

/// What a tool gave.
#[derive(Clone, Debug)]
pub struct Output {
    /// The value, as the tool wrote it; `null` from tools that return nothing.
    pub value: RawJson,
    /// Content blocks, when the tool gave any in addition to, or instead of, a plain value.
    pub content: Vec<Content>,
    /// What only the protocol it came by can say.
    pub extra: Passthrough,
}

impl Output {
    /// A plain value.
    pub fn value(value: RawJson) -> Self {
        Output { value, content: Vec::new(), extra: Passthrough::default() }
    }

    /// A plain value of any type that can be written as JSON.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        to_raw(value).map(Output::value)
    }
}

impl Output {
    /// The value, or what the tool gave instead of one: its only text, or its blocks of content. For protocols whose
    /// answers are one JSON value.
    pub fn plain_value(&self) -> Cow<'_, RawValue> {
        if self.content.is_empty() || self.value.get() != "null" {
            return Cow::Borrowed(&self.value);
        }
        let only = match &self.content[..] {
            [only] => only.as_text().and_then(|text| to_raw(&text).ok()),
            _ => None,
        };
        let blocks = || -> RawJson { to_raw(&self.content).expect("raw JSON is always writable") };
        Cow::Owned(only.unwrap_or_else(blocks))
    }

    /// The content blocks; when the tool gave none, its value as a block of text, and nothing for `null`.
    pub fn blocks(&self) -> Vec<Content> {
        match serde_json::from_str::<serde_json::Value>(self.value.get()) {
            _ if !self.content.is_empty() => self.content.clone(),
            Ok(serde_json::Value::Null) => Vec::new(),
            Ok(serde_json::Value::String(text)) => vec![Content::text(&text)],
            _ => vec![Content::text(self.value.get())],
        }
    }
}

impl PartialEq for Output {
    fn eq(&self, other: &Self) -> bool {
        self.value.get() == other.value.get() && self.content == other.content && self.extra == other.extra
    }
}

/// One block of content in the shape that MCP gave the field: `{"type": "text", "text": …}` and others.
/// It is read and written as the text it is; no name of ours is in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Content(RawJson);

impl Content {
    /// A block of text.
    pub fn text(text: &str) -> Self {
        let block = serde_json::json!({ "type": "text", "text": text });
        Content(crate::json_text::raw_of(&block))
    }

    /// A block of whatever kind, as it came.
    pub fn raw(block: RawJson) -> Self {
        Content(block)
    }

    /// The block as JSON text.
    pub fn json(&self) -> &RawValue {
        &self.0
    }

    /// The text, when this is a block of text.
    pub fn as_text(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Block {
            r#type: String,
            text: Option<String>,
        }
        let block: Block = serde_json::from_str(self.0.get()).ok()?;
        block.text.filter(|_| block.r#type == "text")
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// Why a tool that ran could not do what was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolError {
    /// What went wrong, for models and developers.
    pub message: Message,
    /// Whether trying again may help.
    pub retry: Retry,
    /// Something for the model to read before it tries again, such as near matches.
    pub prompt: Option<String>,
    /// Content blocks, when the tool gave any.
    pub content: Vec<Content>,
    /// What only the protocol it came by can say.
    pub extra: Passthrough,
}

impl ToolError {
    /// A failure that trying again will not mend.
    pub fn new(public: impl Into<String>) -> Self {
        ToolError::from(Message::public(public))
    }

    /// Says that trying again may help.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Adds something for the model to read before it tries again.
    pub fn prompt(mut self, text: impl Into<String>) -> Self {
        self.prompt = Some(text.into());
        self
    }
}

impl From<Message> for ToolError {
    fn from(message: Message) -> Self {
        ToolError {
            message,
            retry: Retry::Never,
            prompt: None,
            content: Vec::new(),
            extra: Passthrough::default(),
        }
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        ToolError::new(error.to_string())
    }
}

/// Whether trying a failed call again may help.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// It will not.
    #[default]
    Never,
    /// It may be tried again at once.
    Now,
    /// Not before this has passed.
    After(Duration),
}

impl Retry {
    /// Trying again may help, after a pause when one is given.
    pub fn allowed(after: Option<Duration>) -> Self {
        after.map_or(Retry::Now, Retry::After)
    }

    /// True when it may help.
    pub fn may_help(self) -> bool {
        self != Retry::Never
    }

    /// What has to pass first.
    pub fn after(self) -> Option<Duration> {
        match self {
            Retry::Never | Retry::Now => None,
            Retry::After(pause) => Some(pause),
        }
    }
}
