//! What requests of all signals have in common, in the JSON form of OTLP: who exports, and attributes.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// Where the name of this machine is found.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// What is said of the process that exports.
pub(super) struct ExportingService(OtlpResource);

#[derive(Serialize)]
pub(super) struct OtlpResource {
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
pub(super) struct OtlpScope {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
}

#[derive(Serialize)]
pub(super) struct Attribute {
    pub(super) key: &'static str,
    pub(super) value: AttributeValue,
}

/// 64-bit numbers are strings, as the JSON form of protobuf has them.
#[derive(Serialize)]
pub(super) enum AttributeValue {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "intValue")]
    Digits(String),
    #[serde(rename = "boolValue")]
    Flag(bool),
}

impl ExportingService {
    pub(super) fn named(name: &str) -> Self {
        let host = std::fs::read_to_string(HOST_NAME).unwrap_or_default();
        ExportingService(OtlpResource {
            attributes: vec![
                text("service.name", name),
                text("service.version", env!("CARGO_PKG_VERSION")),
                text("host.name", host.trim()),
                number("process.pid", std::process::id().into()),
            ],
        })
    }

    pub(super) fn resource(&self) -> &OtlpResource {
        &self.0
    }
}

impl OtlpScope {
    /// The name and version of this program.
    pub(super) const OWN: OtlpScope = OtlpScope { name: "toolmux", version: env!("CARGO_PKG_VERSION") };
}

pub(super) fn text(key: &'static str, value: &str) -> Attribute {
    Attribute { key, value: AttributeValue::Text(value.to_owned()) }
}

pub(super) fn number(key: &'static str, value: u64) -> Attribute {
    Attribute { key, value: AttributeValue::Digits(value.to_string()) }
}

/// Nanoseconds since 1970.
pub(super) fn unix_nanos(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}
