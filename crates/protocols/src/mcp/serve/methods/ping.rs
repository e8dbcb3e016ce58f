//! `ping`: whether we are there.

use bytes::Bytes;

use crate::mcp::wire::empty_result;

pub(in crate::mcp) fn answer() -> Bytes {
    empty_result()
}
