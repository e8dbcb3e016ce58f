//! Durations as people write them: `500ms`, `5s`, `2m`.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

pub(super) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text).map(Some).map_err(serde::de::Error::custom)
}

/// A duration within which something has to happen.
pub(super) fn some_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    match duration(deserializer)? {
        Some(Duration::ZERO) => Err(serde::de::Error::custom("nothing can happen within no time at all")),
        time => Ok(time),
    }
}
