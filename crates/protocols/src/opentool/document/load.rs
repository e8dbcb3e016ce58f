//! Documents from texts, files and addresses: strictly, for whoever wrote one, and leniently, for whoever
//! has to live with what a server says.

use std::fmt;
use std::path::Path as FilePath;
use std::str::FromStr;

use http::{HeaderMap, Method};
use serde_json::Value;
use toolmux_core::json_text::read_strict;
use toolmux_http::client::{HttpClient, HttpError, HttpLimits};
use url::Url;

use super::objects::{Function, OpenTool};
use super::read::{Read, Reader};
use crate::documents::fault::{Fault, Path, not_json, without_bom};

/// The largest document.
const MOST_BYTES: usize = 16 << 20;

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read `{file}`")]
    File {
        file: String,
        #[source]
        error: std::io::Error,
    },
    /// The address is none.
    #[error("`{0}` is not an address")]
    Address(String),
    /// The address cannot be reached.
    #[error("the document cannot be fetched")]
    Http(#[from] HttpError),
    /// The address answers with something else.
    #[error("`{url}` answered with status {status}")]
    Status {
        url: String,
        /// What it said.
        status: u16,
    },
    /// The document has faults.
    #[error("{}", Listed(.0))]
    Faulty(Vec<Fault>),
}

struct Listed<'a>(&'a [Fault]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the document has {} fault{}", self.0.len(), if self.0.len() == 1 { "" } else { "s" })?;
        self.0.iter().try_for_each(|fault| write!(f, "\n{fault}; {}", fault.remedy))
    }
}

/// Every fault of a text as an OpenTool document; none means it is good.
pub fn check(text: &str) -> Vec<Fault> {
    read(text).1
}

impl FromStr for OpenTool {
    type Err = LoadError;

    /// Reads a document; any fault refuses it.
    fn from_str(text: &str) -> Result<Self, LoadError> {
        match read(text) {
            (Some(read), faults) if faults.is_empty() => Ok(read.document),
            (_, faults) => Err(LoadError::Faulty(faults)),
        }
    }
}

impl OpenTool {
    /// Reads a document; any fault refuses it.
    pub fn from_json(text: &str) -> Result<Self, LoadError> {
        text.parse()
    }

    /// Reads a document of a file.
    pub fn from_file(file: &FilePath) -> Result<Self, LoadError> {
        std::fs::read_to_string(file)
            .map_err(|error| LoadError::File { file: file.display().to_string(), error })?
            .parse()
    }

    /// Reads a document of a web address.
    pub async fn from_url(url: &str) -> Result<Self, LoadError> {
        let address: Url = url.parse().map_err(|_| LoadError::Address(url.to_owned()))?;
        let client = HttpClient::new(HttpLimits { body_bytes: MOST_BYTES, ..HttpLimits::default() });
        let answer = client.send(Method::GET, &address, HeaderMap::new(), "").await?;
        let status = answer.status();
        if !status.is_success() {
            return Err(LoadError::Status { url: url.to_owned(), status: status.as_u16() });
        }
        String::from_utf8_lossy(&answer.body().await?).parse()
    }

    /// The document as JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a document has text keys only")
    }
}

impl Function {
    /// Reads a function without references, as one of our own documents has it.
    pub(in crate::opentool) fn read(text: &str) -> Option<Function> {
        let value: Value = serde_json::from_str(text).ok()?;
        let mut reader = Reader::new(&value);
        let function = reader.function(&value, &Path::Root);
        function.filter(|_| reader.faults.fatal_count() == 0)
    }
}

/// What of a text can be used: the good functions, the others with their faults; `None` when it is no
/// document at all.
pub(in crate::opentool) fn read_leniently(
    text: &str,
) -> Result<(OpenTool, Vec<(String, String)>), LoadError> {
    match read(text) {
        (Some(Read { document, unusable }), _) => Ok((document, unusable)),
        (None, faults) => Err(LoadError::Faulty(faults)),
    }
}

fn read(text: &str) -> (Option<Read>, Vec<Fault>) {
    let text = without_bom(text);
    let value = match read_strict(text) {
        Ok(value) => value,
        Err(error) => return (None, vec![not_json(&error)]),
    };
    let mut reader = Reader::new(&value);
    let read = reader.document(&value);
    (read, reader.faults.placed(text))
}
