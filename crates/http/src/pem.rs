//! Certificates and keys out of PEM texts, for both sides of TLS.

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use toolmux_core::secret::Secret;

/// Why certificates and keys cannot be used. The words hold nothing of them.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A text is not PEM, or has none of what is wanted.
    #[error("{0} has no certificate in PEM form")]
    NoCertificate(&'static str),
    /// A text has no key.
    #[error("there is no private key in PEM form")]
    NoKey,
    /// The parts do not go together, or TLS cannot use them.
    #[error("TLS cannot use it: {0}")]
    Unfit(rustls::Error),
}

/// Every certificate of a PEM text; `what` names the text in an error.
pub fn certificates(pem: &[u8], what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    read.ok().filter(|read| !read.is_empty()).ok_or(TlsError::NoCertificate(what))
}

/// The authorities of a PEM text.
pub fn roots(pem: &[u8], what: &'static str) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem, what)? {
        roots.add(certificate).map_err(TlsError::Unfit)?;
    }
    Ok(roots)
}

/// The private key of a PEM text.
pub fn private_key(pem: &Secret) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(pem.expose().as_bytes()).map_err(|_| TlsError::NoKey)
}
