//! A message in two halves: what a model or user may read, and what only a developer may.

/// Deliberately without `Display`: the developer half cannot leak by accident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// May be shown to a model or a user.
    pub public: String,
    /// Goes to the log, and in OXP's `developer_message` to callers who may know it; nowhere else.
    pub developer: Option<String>,
}

impl Message {
    /// A message whose every word may be shown.
    pub fn public(text: impl Into<String>) -> Self {
        Message { public: text.into(), developer: None }
    }

    /// Adds the half that stays with developers.
    pub fn developer(mut self, text: impl Into<String>) -> Self {
        self.developer = Some(text.into());
        self
    }

    /// Adds an error with its chain of sources as the developer half.
    pub fn caused_by(self, error: &dyn std::error::Error) -> Self {
        let mut text = error.to_string();
        let mut next = error.source();
        while let Some(cause) = next {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            next = cause.source();
        }
        self.developer(text)
    }
}
