//! An answer: its head at once, its body in pieces or whole, within the bounds of the client.

use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::timeout;
use toolmux_core::answer_memory::answer_takes;
use tower_http::decompression::DecompressionBody;

use super::error::HttpError;
use super::limits::HttpLimits;
use super::pool::Origin;

/// An answer whose body is still to come.
pub struct Answer {
    response: Box<Response<DecompressionBody<Incoming>>>,
    origin: Arc<Origin>,
    limits: HttpLimits,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("host", &self.host())
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

impl Answer {
    pub(super) fn new(
        response: Response<DecompressionBody<Incoming>>,
        origin: Arc<Origin>,
        limits: HttpLimits,
    ) -> Self {
        Answer { response: Box::new(response), origin, limits }
    }

    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// The host that the request was sent to.
    pub fn host(&self) -> &str {
        self.origin.host()
    }

    /// The headers of the response.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next piece of the body, for streams; how long to wait for it is the caller's to say.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            match self.response.body_mut().frame().await.transpose() {
                Ok(None) => return Ok(None),
                Ok(Some(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        return Ok(Some(piece));
                    }
                }
                Err(error) => return Err(HttpError::Lost { host: self.host().to_owned(), error }),
            }
        }
    }

    /// The whole body.
    pub async fn body(mut self) -> Result<Bytes, HttpError> {
        let after = self.limits.timeout;
        match timeout(after, self.whole()).await {
            Ok(whole) => whole,
            Err(_) => Err(HttpError::TimedOut { host: self.host().to_owned(), after }),
        }
    }

    async fn whole(&mut self) -> Result<Bytes, HttpError> {
        let most = self.limits.body_bytes;
        let promised = self.response.body().size_hint().exact();
        let mut whole = BytesMut::new();
        while let Some(piece) = self.piece().await? {
            if whole.len() + piece.len() > most {
                return Err(HttpError::TooLarge { host: self.host().to_owned(), most });
            }
            let no_memory = |error| HttpError::NoMemory { host: self.host().to_owned(), error };
            answer_takes(whole.len() + piece.len()).map_err(no_memory)?;
            if whole.is_empty() && promised == Some(piece.len() as u64) {
                return Ok(piece);
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }
}
