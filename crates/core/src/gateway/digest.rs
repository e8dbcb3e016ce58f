//! The digest of a call: what makes two requests under one id the same call.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::call::Call;
use crate::ports::store::CallDigest;

/// Tool, arguments and user, the same whatever the order of keys: what one user was answered is never
/// another's answer. Delivered credentials are not part of it: a token that was renewed between two tries
/// does not make another call.
pub(crate) fn digest(call: &Call) -> CallDigest {
    let id = &call.entry.id;
    let mut text = Vec::with_capacity(256);
    for name in [&id.toolkit, &id.tool] {
        text.extend_from_slice(name.as_bytes());
        text.push(0);
    }
    for number in [id.version.major, id.version.minor, id.version.patch] {
        text.extend_from_slice(&number.to_le_bytes());
    }
    write_sorted(call.given().value(), &mut text);
    if let Some(user) = &call.request.grants.user_id {
        write_scalar(user, &mut text);
    }
    Sha256::digest(text).into()
}

/// Writes a value with its keys in order. Each part begins with a sign of its own, so that no two values
/// are written alike.
fn write_sorted(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_unstable_by_key(|(key, _)| key.as_str());
            text.push(b'{');
            for (key, value) in members {
                write_scalar(key, text);
                write_sorted(value, text);
            }
            text.push(b'}');
        }
        Value::Array(items) => {
            text.push(b'[');
            for item in items {
                write_sorted(item, text);
            }
            text.push(b']');
        }
        scalar => write_scalar(scalar, text),
    }
}

fn write_scalar(scalar: &impl Serialize, text: &mut Vec<u8>) {
    text.push(b',');
    // Writing to memory cannot fail.
    serde_json::to_writer(text, scalar).unwrap_or_default();
}
