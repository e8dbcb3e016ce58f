//! Durations as people write them: `500ms`, `5s`, `2m`.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// What a duration must be.
pub(super) const TIME: &str = "a time such as \"500ms\", \"5s\" or \"2m\"";
/// What a duration within which something has to happen must be.
pub(super) const SOME_TIME: &str = "longer than 0s";

pub(super) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text).map(Some).map_err(|_| serde::de::Error::custom(TIME))
}

/// A duration within which something has to happen.
pub(super) fn some_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    match duration(deserializer)? {
        Some(Duration::ZERO) => Err(serde::de::Error::custom(SOME_TIME)),
        time => Ok(time),
    }
}
