//! Bytes as arguments: a text, or `{"base64": …}` as results have bytes that are not UTF-8.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use toolmux_dylib_host::value::put_bytes;

/// Reads bytes and appends them.
pub(super) struct AnyBytes<'a> {
    pub(super) out: &'a mut Vec<u8>,
}

impl<'de> Visitor<'de> for AnyBytes<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or an object with `base64`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        put_bytes(self.out, Some(text.as_bytes())).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut bytes = None;
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "base64" => {
                    let text: String = members.next_value()?;
                    bytes = Some(STANDARD.decode(text).map_err(|_| A::Error::custom("is not base64"))?);
                }
                "reason" => drop(members.next_value::<IgnoredAny>()?),
                _ => return Err(A::Error::custom("must be a text, or an object with `base64`")),
            }
        }
        let bytes = bytes.ok_or_else(|| A::Error::custom("must be a text, or an object with `base64`"))?;
        put_bytes(self.out, Some(&bytes)).map_err(A::Error::custom)
    }
}
