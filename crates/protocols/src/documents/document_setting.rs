//! Where the document of a source is: in a file, or in the configuration itself.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::registry::OpenError;

/// Where a document is.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum DocumentSetting {
    /// In a file.
    File(PathBuf),
    /// In the configuration itself.
    Here(Map<String, Value>),
}

/// A document that was read.
pub(crate) struct DocumentText {
    /// Absent for a document in the configuration: errors must not quote it, since a configuration holds secrets.
    pub(crate) file: Option<PathBuf>,
    pub(crate) text: String,
}

impl DocumentSetting {
    pub(crate) fn read(&self, folder: &Path) -> Result<DocumentText, OpenError> {
        match self {
            DocumentSetting::Here(members) => {
                Ok(DocumentText { file: None, text: Value::Object(members.clone()).to_string() })
            }
            DocumentSetting::File(file) => {
                let file = folder.join(file);
                let text = std::fs::read_to_string(&file).map_err(|error| {
                    OpenError::new(format!("the file of `document` cannot be read: {error}"))
                })?;
                Ok(DocumentText { file: Some(file), text })
            }
        }
    }
}
