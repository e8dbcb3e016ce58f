//! `[tls]` and the certificates of callers: from what is written to what a listener uses.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{self, ServerConfig};
use toolmux_core::secret::Secret;
use toolmux_http::pem::{TlsError, certificates, private_key, roots};

use super::fault::ConfigFault;
use super::raw::RawTls;
use super::resolve::Reader;
use super::secrets;
use crate::listener::{HTTP1, HTTP2};

/// Certificates and keys as they were read.
struct Material {
    certificate: Vec<u8>,
    key: Secret,
    client_authorities: Option<Vec<u8>>,
}

impl Reader<'_> {
    pub(super) fn tls(&self, raw: Option<&RawTls>) -> Result<Option<Arc<ServerConfig>>, ConfigFault> {
        let Some(raw) = raw else { return Ok(None) };
        let client_ca = raw.client_ca.as_deref();
        let material = Material {
            certificate: self.read_file(&["tls", "cert"], &raw.cert)?,
            key: self.secret(&["tls", "key"], &raw.key)?,
            client_authorities: client_ca
                .map(|file| self.read_file(&["tls", "client_ca"], file))
                .transpose()?,
        };
        let config = server_config(&material).map_err(|error| {
            self.fault(&["tls"], format!("[tls] cannot be used: {error}")).hint(
                "`cert` is a PEM file of the certificate and its issuers, `key` its private key, `client_ca` a PEM file of \
                 authorities",
            )
        })?;
        Ok(Some(Arc::new(config)))
    }

    /// The SHA-256 of the certificate of a caller: as it is written, or of the first one in a PEM file.
    pub(super) fn fingerprint(&self, name: &str, written: &str) -> Result<[u8; 32], ConfigFault> {
        if let Some(fingerprint) = fingerprint_of(written) {
            return Ok(fingerprint);
        }
        let path = ["keys", name, "certificate"];
        let pem = self.read_file(&path, written)?;
        let unfit = |_: TlsError| {
            self.fault(&path, format!("`keys.{name}.certificate` has no certificate in PEM form"))
                .hint("give a PEM file, or the SHA-256 fingerprint in hexadecimal")
        };
        let chain = certificates(&pem, "the file").map_err(unfit)?;
        Ok(chain.first().map(|first| Sha256::digest(first).into()).unwrap_or_default())
    }

    fn read_file(&self, path: &[&str], file: &str) -> Result<Vec<u8>, ConfigFault> {
        std::fs::read(self.folder.join(file)).map_err(|error| {
            self.fault(path, format!("the file of `{}` cannot be read: {error}", path.join(".")))
        })
    }
}

/// A fingerprint as tools print it: 64 hexadecimal digits, perhaps in pairs with colons.
pub(crate) fn fingerprint_of(written: &str) -> Option<[u8; 32]> {
    secrets::digest(&written.replace(':', "")).ok()
}

fn server_config(material: &Material) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(TlsError::Unfit)?;
    let builder = match &material.client_authorities {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let roots = Arc::new(roots(pem, "the file of `client_ca`")?);
            // A client without a certificate may still show a key or a token.
            let verifier =
                WebPkiClientVerifier::builder_with_provider(roots, provider).allow_unauthenticated();
            let unfit = |error: rustls::server::VerifierBuilderError| {
                TlsError::Unfit(rustls::Error::General(error.to_string()))
            };
            builder.with_client_cert_verifier(verifier.build().map_err(unfit)?)
        }
    };
    let chain = certificates(&material.certificate, "the file of `cert`")?;
    let mut config = builder.with_single_cert(chain, private_key(&material.key)?).map_err(TlsError::Unfit)?;
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_read_as_tools_print_them() {
        let digits = "ab".repeat(32);
        let pairs = vec!["AB"; 32].join(":");
        for (written, expect) in
            [(digits.as_str(), true), (pairs.as_str(), true), ("client.pem", false), ("", false)]
        {
            assert_eq!(fingerprint_of(written), expect.then_some([0xab; 32]), "{written}");
        }
    }
}
