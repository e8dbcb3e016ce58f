//! Bodies count against the memory for all requests, from their first byte to their last use.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use futures_util::stream;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::memory::MemoryStore;
use toolmux_core::refusal::Refusal;
use toolmux_http::serve::{Received, SharedHeaders, Web, WebLimits};

const MEMORY: usize = 1 << 20;
const HALF: usize = MEMORY / 2;

/// Whether a body says how long it is.
#[derive(Clone, Copy)]
enum Length {
    Told,
    Chunked,
}

fn web() -> Web {
    let limits = Limits { memory: Some(MEMORY), ..Limits::default() };
    let gateway = Gateway::new(Settings { limits, ..Settings::default() }, Arc::new(MemoryStore::default()));
    Web { gateway, limits: WebLimits::default(), stop: None, headers: SharedHeaders::default() }
}

async fn open(web: &Web, size: usize, length: Length) -> Result<Received, Refusal> {
    let request = match length {
        Length::Told => Request::post("/").header("content-length", size).body(Body::from(vec![b'x'; size])),
        Length::Chunked => {
            let pieces = vec![Ok::<_, Infallible>(vec![b'x'; size / 8]); 8];
            Request::post("/").body(Body::from_stream(stream::iter(pieces)))
        }
    };
    web.open(request.expect("a request")).await.map(|(_, _, body)| body)
}

#[tokio::test]
async fn bodies_that_do_not_fit_beside_others_are_busy_and_later_welcome() {
    for length in [Length::Told, Length::Chunked] {
        let web = web();
        let first = open(&web, HALF, length).await.expect("it fits");
        let mut second = open(&web, HALF, length).await.expect("it fits");
        assert_eq!(web.gateway.memory().used(), MEMORY);
        let refused = open(&web, HALF, length).await.expect_err("full");
        assert_eq!(refused.name(), "busy", "{refused:?}");
        assert_eq!(open(&web, 100, Length::Told).await.expect("small ones are not counted").len(), 100);
        second.free();
        assert_eq!(
            web.gateway.memory().used(),
            MEMORY,
            "what was read of a body is kept longer than its bytes"
        );
        drop((first, second));
        assert_eq!(web.gateway.memory().used(), 0, "what was refused holds nothing");
        assert!(open(&web, HALF, length).await.is_ok());
    }
}

#[tokio::test]
async fn a_body_that_never_fits_is_told_so() {
    let web = web();
    for length in [Length::Told, Length::Chunked] {
        let refused = open(&web, 2 * MEMORY, length).await.expect_err("larger than all there is");
        assert_eq!(refused.name(), "malformed");
        assert!(refused.message().public.contains("limits.memory"), "{refused:?}");
    }
}
