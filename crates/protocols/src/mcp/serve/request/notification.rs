//! Notifications of clients that we act on; all others are taken and left aside.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::mcp::notifications::{CANCELLED, INITIALIZED};

pub(in crate::mcp) enum ClientNotification<'a> {
    /// Nobody waits for the answer to this request any more.
    Cancelled(&'a RawValue),
    /// The handshake is over.
    Initialized,
}

impl<'a> ClientNotification<'a> {
    pub(in crate::mcp) fn read(method: &str, params: Option<&'a RawValue>) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CancelledParams<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        match method {
            CANCELLED => {
                let params: CancelledParams<'a> = serde_json::from_str(params?.get()).ok()?;
                Some(ClientNotification::Cancelled(params.request_id))
            }
            INITIALIZED => Some(ClientNotification::Initialized),
            _ => None,
        }
    }
}
