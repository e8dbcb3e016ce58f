//! TLS of a client: the authorities that it trusts, and the certificate that it shows.

use std::fmt;
use std::sync::{Arc, LazyLock};

use hyper_rustls::ConfigBuilderExt;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, ConfigBuilder, WantsVerifier};
use toolmux_core::secret::Secret;

use crate::pem::{TlsError, certificates, private_key, roots};

/// Made when the first address wants TLS: to read the system's certificates takes milliseconds.
static SYSTEM: LazyLock<Result<Arc<ClientConfig>, rustls::Error>> =
    LazyLock::new(|| Ok(Arc::new(builder()?.try_with_platform_verifier()?.with_no_client_auth())));

/// What a client does about TLS that is not what the system says. Cloning shares it.
#[derive(Clone)]
pub struct ClientTls(Arc<ClientConfig>);

/// Certificates and keys as PEM texts.
#[derive(Default)]
pub struct TlsMaterial {
    /// The only authorities that are trusted; those of the system when absent.
    pub authorities: Option<Vec<u8>>,
    /// The certificate to show, with those that lead from it to its authority, and its key.
    pub identity: Option<(Vec<u8>, Secret)>,
}

impl ClientTls {
    /// TLS by this material.
    pub fn new(material: TlsMaterial) -> Result<Self, TlsError> {
        let TlsMaterial { authorities, identity } = material;
        let builder = builder().map_err(TlsError::Unfit)?;
        let verified = match authorities {
            Some(pem) => builder.with_root_certificates(roots(&pem, "the file of authorities")?),
            None => builder.try_with_platform_verifier().map_err(TlsError::Unfit)?,
        };
        let config = match identity {
            None => verified.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(&certificate, "the file of the certificate")?;
                verified.with_client_auth_cert(chain, private_key(&key)?).map_err(TlsError::Unfit)?
            }
        };
        Ok(ClientTls(Arc::new(config)))
    }

    pub(super) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0)
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientTls(…)")
    }
}

/// What the system says.
pub(super) fn system() -> Result<Arc<ClientConfig>, rustls::Error> {
    SYSTEM.as_ref().map(Arc::clone).map_err(Clone::clone)
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
}
