//! The bounded body of a request: its bytes, its JSON values, the time it takes, and the memory of all requests.

use std::ops::Deref;
use std::pin::pin;

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use toolmux_core::call::Caller;
use toolmux_core::json_text::at_most_values;
use toolmux_core::memory_budget::{COUNTED, Reservation};
use toolmux_core::refusal::Refusal;
use toolmux_core::time_limit;

use super::request::{check_idempotency_key, malformed};
use super::web::Web;

/// A body that has arrived, with what it takes of the memory for all requests. Keep it until the request is answered.
#[derive(Debug)]
pub struct Received {
    bytes: Bytes,
    held: Option<Reservation>,
}

impl Received {
    /// Frees the bytes of a body that was read. They stay counted: what was read of them is kept until the
    /// request is answered.
    pub fn free(&mut self) {
        self.bytes = Bytes::new();
    }

    /// What it takes of the memory for all requests, without its bytes.
    pub fn into_held(self) -> Option<Reservation> {
        self.held
    }
}

impl Deref for Received {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Web {
    /// Who asks, and the body. Nobody unknown gets a body read.
    pub async fn open(&self, request: Request) -> Result<(Caller, Parts, Received), Refusal> {
        let (parts, body) = request.into_parts();
        let caller = self.admit(&parts)?;
        let body = self.body(&parts.headers, body).await?;
        Ok((caller, parts, body))
    }

    /// The body. It is not read for a caller whose `Idempotency-Key` is none.
    pub async fn body(&self, headers: &HeaderMap, body: Body) -> Result<Received, Refusal> {
        check_idempotency_key(headers)?;
        let most = self.limits.body_bytes.min(self.gateway.memory().most());
        let length =
            headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: usize| length > most) {
            return Err(self.too_large());
        }
        let reading = pin!(async {
            match length {
                Some(length) if length < COUNTED => {
                    let bytes = axum::body::to_bytes(body, most).await.map_err(|_| self.too_large())?;
                    Ok(Received { bytes, held: None })
                }
                // Rare, so it is kept out of the future of every request.
                _ => Box::pin(self.counted_body(length, body, most)).await,
            }
        });
        match time_limit::within(self.limits.body_timeout, reading).await {
            Some(Ok(read)) => self.check_values(&read.bytes).map(|()| read),
            Some(refused) => refused,
            None => Err(malformed("The body did not arrive in time".to_owned())),
        }
    }

    /// A body that may be large. What has arrived counts against the memory for all requests; what a client only
    /// promises does not, or slow clients could take it all.
    async fn counted_body(
        &self,
        length: Option<usize>,
        mut body: Body,
        most: usize,
    ) -> Result<Received, Refusal> {
        let memory = self.gateway.memory();
        memory.check(length.unwrap_or_default())?;
        let (mut held, mut bytes) = (memory.reserve(0)?, Vec::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| malformed("The body was cut off".to_owned()))?;
            let Ok(piece) = frame.into_data() else { continue };
            if bytes.len() + piece.len() > most {
                return Err(self.too_large());
            }
            held.grow(piece.len())?;
            if bytes.capacity() == 0 {
                // Pages that nobody wrote to take no memory, whatever length was promised.
                bytes.reserve_exact(length.unwrap_or(COUNTED));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(Received { bytes: bytes.into(), held: Some(held) })
    }

    /// Refuses a body with too many JSON values before any is made: each takes many times the memory of its text.
    fn check_values(&self, body: &[u8]) -> Result<(), Refusal> {
        let most = self.limits.body_values;
        if at_most_values(body, most) {
            return Ok(());
        }
        Err(malformed(format!("The body holds more than {most} JSON values, which is limits.body_values")))
    }

    fn too_large(&self) -> Refusal {
        let (most, memory) = (self.limits.body_bytes, self.gateway.memory().most());
        malformed(if memory < most {
            format!("The body is larger than limits.memory, which is {memory} bytes")
        } else {
            format!("The body is larger than {most} bytes")
        })
    }
}
