//! Files in the arguments of a call: their bytes in base64, or the path of a file in a folder that the configuration
//! allows.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::argument_text::{Shape, plain};
use super::escape::Unsendable;
use super::multipart::is_media_type;

/// Either alphabet, with or without padding: models write both.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Which files of this machine may be sent.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileSettings {
    /// Folders whose files calls may send by their path; relative to the configuration file.
    folders: Vec<PathBuf>,
    /// Maximum size of one file, in bytes.
    #[serde(default = "most_bytes")]
    max_bytes: u64,
}

fn most_bytes() -> u64 {
    16 << 20
}

/// The same, with folders that exist.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileAccess {
    folders: Arc<[PathBuf]>,
    max_bytes: u64,
}

/// A file to send.
#[derive(Debug, Default)]
pub(super) struct FileContent {
    pub(super) bytes: Vec<u8>,
    pub(super) name: Option<String>,
    pub(super) content_type: Option<String>,
}

impl FileAccess {
    /// Says which folder does not exist.
    pub(crate) fn new(settings: Option<&FileSettings>, folder: &Path) -> Result<Self, String> {
        let Some(settings) = settings else { return Ok(FileAccess::default()) };
        let folders = settings.folders.iter().map(|named| {
            let whole = folder.join(named);
            let is_folder = |path: &PathBuf| path.is_dir();
            whole
                .canonicalize()
                .ok()
                .filter(is_folder)
                .ok_or_else(|| format!("`{}` is not a folder", named.display()))
        });
        Ok(FileAccess { folders: folders.collect::<Result<_, _>>()?, max_bytes: settings.max_bytes })
    }

    /// The schema of an argument that is a file.
    pub(crate) fn schema(&self, description: &str) -> Value {
        let base64 =
            json!({ "type": "string", "contentEncoding": "base64", "description": "The bytes in base64" });
        let about = |content: Value| {
            let mut properties = content;
            properties["filename"] = json!({ "type": "string" });
            properties["content_type"] = json!({ "type": "string", "description": "Such as image/png" });
            properties
        };
        let object = |name: &str, content: Value| {
            let properties = about(json!({ name: content }));
            json!({ "type": "object", "properties": properties, "required": [name], "additionalProperties": false })
        };
        let mut forms =
            vec![base64.clone(), object("base64", base64), object("text", json!({ "type": "string" }))];
        if !self.folders.is_empty() {
            let path = json!({ "type": "string", "description": "The path of a file on the server" });
            forms.push(object("path", path));
        }
        json!({ "description": description, "anyOf": forms })
    }

    /// The bytes that an argument stands for.
    pub(super) async fn read(&self, value: &RawValue) -> Result<FileContent, Unsendable> {
        let members = match Shape::of(value) {
            Shape::Plain(text) => return decode(&text),
            Shape::Object(members) => members,
            Shape::Null | Shape::List(_) => return Err("must be a file: its bytes in base64".into()),
        };
        let text = |name: &str| members.get(name).and_then(plain);
        let mut file = match (text("base64"), text("text"), text("path")) {
            (Some(base64), _, _) => decode(&base64)?,
            (None, Some(text), _) => {
                FileContent { bytes: text.into_owned().into_bytes(), ..FileContent::default() }
            }
            (None, None, Some(path)) => self.open(path.into_owned()).await?,
            (None, None, None) => return Err("must have `base64`, `text` or `path`".into()),
        };
        if let Some(name) = text("filename") {
            file.name = Some(name.into_owned());
        }
        if let Some(content_type) = text("content_type") {
            if !is_media_type(&content_type) {
                return Err("has a `content_type` that is none, such as `image/png`".into());
            }
            file.content_type = Some(content_type.into_owned());
        }
        Ok(file)
    }

    /// Reads a file of an allowed folder. The task ends by itself when the future is dropped: it reads one file.
    async fn open(&self, path: String) -> Result<FileContent, Unsendable> {
        let (folders, most) = (Arc::clone(&self.folders), self.max_bytes);
        let reading = tokio::task::spawn_blocking(move || read_allowed(&folders, Path::new(&path), most));
        reading.await.unwrap_or_else(|_| Err("cannot be read".into()))
    }
}

/// The same words whether a file does not exist or is not allowed: callers are not told what exists elsewhere.
fn read_allowed(folders: &[PathBuf], path: &Path, most: u64) -> Result<FileContent, Unsendable> {
    let not_there =
        || Unsendable::from("must be the path of a file in a folder that the server's `files` allow");
    let real = folders.iter().find_map(|folder| {
        let real = folder.join(path).canonicalize().ok()?;
        (real.starts_with(folder) && real.is_file()).then_some(real)
    });
    let real = real.ok_or_else(not_there)?;
    let file = std::fs::File::open(&real).map_err(|_| not_there())?;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|_| not_there())?;
    if bytes.len() as u64 > most {
        return Err(format!("is a file of more than the {most} bytes that `files.max_bytes` allows").into());
    }
    let name = real.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(FileContent { bytes, name, content_type: None })
}

/// Base64, or a `data:` URL of it.
fn decode(text: &str) -> Result<FileContent, Unsendable> {
    let (content_type, base64) = match text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"))
    {
        Some((content_type, base64)) => (Some(content_type).filter(|kind| is_media_type(kind)), base64),
        None => (None, text),
    };
    let bare: Vec<u8> = base64.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let is_url_safe = bare.iter().any(|byte| matches!(byte, b'-' | b'_'));
    let bytes = if is_url_safe { URL_SAFE.decode(&bare) } else { STANDARD.decode(&bare) };
    match bytes {
        Ok(bytes) => Ok(FileContent { bytes, name: None, content_type: content_type.map(str::to_owned) }),
        Err(error) => Err(format!("must be base64: {error}").into()),
    }
}
