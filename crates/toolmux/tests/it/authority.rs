//! A certificate authority of a test's own, and what it issues.

use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// An authority whose certificates are trusted by nobody but a test.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
}

/// A certificate and its key, as PEM and as bytes.
pub(crate) struct Issued {
    pub(crate) pem: String,
    pub(crate) key: String,
    pub(crate) der: Vec<u8>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    /// For a server on this machine.
    pub(crate) fn server(&self) -> Issued {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        self.issue(CertificateParams::new(names).unwrap(), ExtendedKeyUsagePurpose::ServerAuth)
    }

    pub(crate) fn client(&self) -> Issued {
        self.issue(CertificateParams::default(), ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue(&self, mut params: CertificateParams, purpose: ExtendedKeyUsagePurpose) -> Issued {
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Issued { pem: certificate.pem(), key: key.serialize_pem(), der: certificate.der().to_vec() }
    }

    /// Writes its own certificate to `NAME.pem`.
    pub(crate) fn write(&self, folder: &Path, name: &str) {
        std::fs::write(folder.join(format!("{name}.pem")), &self.pem).unwrap();
    }
}

impl Issued {
    /// Writes the certificate to `NAME.pem` and its key to `NAME.key`.
    pub(crate) fn write(&self, folder: &Path, name: &str) {
        std::fs::write(folder.join(format!("{name}.key")), &self.key).unwrap();
        std::fs::write(folder.join(format!("{name}.pem")), &self.pem).unwrap();
    }
}
