//! The address: may it be listened on, and is it free.

use std::io::ErrorKind;

use tokio::net::TcpListener;

use super::Finding;
use crate::config::Config;

pub(super) async fn examine(config: &Config) -> Vec<Finding> {
    let listen = config.listen;
    let exposure = config.check_exposure().err().map(|fault| {
        let remedy = fault.hint.clone().unwrap_or_default();
        Finding::bad("address", fault.to_string(), remedy)
    });
    let bound = match TcpListener::bind(listen).await {
        Ok(_) => Finding::good("address", format!("{listen} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => Finding::warning(
            "address",
            format!("something already listens on {listen}"),
            "if that is not toolmux, choose another address with `listen` or --listen",
        ),
        Err(error) => Finding::bad(
            "address",
            format!("cannot listen on {listen}: {error}"),
            "choose an address of this machine and a port from 1024 up",
        ),
    };
    exposure.into_iter().chain([bound]).collect()
}
