//! `toolmux health`: a probe for where there is no other, such as an image without a shell.

use std::path::PathBuf;
use std::process::ExitCode;

use toolmux_protocols::oxp::OxpClient;

use super::failure::Failure;
use super::remote::{trusting, unasked};

/// Ask a running server whether it is ready.
///
/// Exits with 0 when it is, and with 2 when it is not or does not answer.
///
/// Example: toolmux health --url http://127.0.0.1:9627
#[derive(clap::Args)]
pub(super) struct Health {
    /// The address of the server.
    #[arg(long, default_value = "http://127.0.0.1:9627")]
    url: String,
    /// A PEM file of the authorities that the certificate of the server is verified by [default: those of the
    /// system].
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl Health {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let tls = self.ca.as_deref().map(trusting).transpose()?;
        let client = OxpClient::new(&self.url).map_err(unasked)?.tls(tls);
        if client.health().await.map_err(unasked)? {
            return Ok(ExitCode::SUCCESS);
        }
        Err(Failure::refused(anyhow::anyhow!("the server at {} is not ready", self.url)))
    }
}
