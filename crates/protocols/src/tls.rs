//! `tls = { ca, cert, key }`, which every source with an address may have.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_http::client::{ClientTls, TlsMaterial};

use crate::registry::{OpenError, Opening, SecretSetting};

/// How a server that is reached by https is verified, and the certificate that it is shown. The files are read again
/// when they change.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TlsSetting {
    /// A PEM file of the only authorities that are trusted. Default: those of the system.
    ca: Option<PathBuf>,
    /// A PEM file of the client certificate, followed by those of its issuers.
    cert: Option<PathBuf>,
    /// The private key of `cert`, as PEM: `{ file = "client.key" }` or `{ env = "CLIENT_KEY" }`.
    key: Option<SecretSetting>,
}

impl Opening<'_> {
    /// TLS as a source wants it; nothing for one that leaves it to the system.
    pub(crate) fn tls(&self, setting: Option<&TlsSetting>) -> Result<Option<ClientTls>, OpenError> {
        let Some(TlsSetting { ca, cert, key }) = setting else { return Ok(None) };
        let identity = match (cert, self.secret(key.as_ref())?) {
            (Some(cert), Some(key)) => Some((read(self.folder, cert, "tls.cert")?, key)),
            (None, None) => None,
            (Some(_), None) => return Err(OpenError::new("its `tls.cert` needs `tls.key`")),
            (None, Some(_)) => return Err(OpenError::new("its `tls.key` needs `tls.cert`")),
        };
        let authorities = ca.as_ref().map(|ca| read(self.folder, ca, "tls.ca")).transpose()?;
        let tls = ClientTls::new(TlsMaterial { authorities, identity });
        tls.map(Some).map_err(|error| {
            OpenError::new(format!("its `tls` cannot be used: {error}")).hint(
                "`ca` and `cert` are files with certificates in PEM form, `key` is the private key of `cert`",
            )
        })
    }
}

/// The words name the setting and not the file: a value may be a secret in the wrong place.
fn read(folder: &Path, file: &Path, setting: &str) -> Result<Vec<u8>, OpenError> {
    std::fs::read(folder.join(file))
        .map_err(|error| OpenError::new(format!("the file of its `{setting}` cannot be read: {error}")))
}
