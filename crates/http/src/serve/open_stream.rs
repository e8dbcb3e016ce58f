//! A stream that answers a request ends when whoever asked is no longer let in: its key was removed or replaced, or
//! opens other tools than before. Here and not in the protocols, so that no stream is forgotten.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use futures_util::StreamExt;
use http::{HeaderValue, Request, header};
use hyper::body::Body as _;
use toolmux_core::call::Caller;
use toolmux_core::refusal::Refusal;

use super::web::{AskedToolset, ClientCertificate, Web, shown};

/// What a request showed to be let in. Its parts are counted references, so that keeping it costs nearly nothing.
pub struct ShownCredential {
    key: Option<HeaderValue>,
    authorization: Option<HeaderValue>,
    certificate: Option<ClientCertificate>,
    toolset: Option<AskedToolset>,
    /// [`toolmux_core::gateway::AdmissionView::generation`] before the request was let in. Read before, not after: a change
    /// between the two is then seen as one, and ends the stream rather than being missed.
    admissions: u64,
}

impl ShownCredential {
    /// What this request shows.
    pub fn of<B>(request: &Request<B>, web: &Web) -> Self {
        ShownCredential {
            key: web.headers.key(request.headers()).cloned(),
            authorization: request.headers().get(header::AUTHORIZATION).cloned(),
            certificate: request.extensions().get::<ClientCertificate>().cloned(),
            toolset: request.extensions().get::<AskedToolset>().cloned(),
            admissions: web.gateway.admission().generation(),
        }
    }

    /// The same answer; one whose end is not known yet ends when this credential no longer lets the same caller in.
    pub fn bound(self, answer: Response, web: &Arc<Web>) -> Response {
        // A body of known length is written and ends by itself: nothing more can reach who lost access.
        if answer.body().size_hint().exact().is_some() {
            return answer;
        }
        let lost = self.lost(Arc::clone(web));
        answer.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(lost))))
    }

    async fn lost(self, web: Arc<Web>) {
        // Subscribed before anything is looked at: a change that comes in between is seen below.
        let mut changes = web.gateway.admission().changes();
        // The rules were replaced while the request was answered. Who it is now may not be who it was then, so the stream
        // ends without a look at who it is.
        if *changes.borrow_and_update() != self.admissions {
            return;
        }
        let Ok(caller) = self.admit(&web) else { return };
        while changes.changed().await.is_ok() {
            // The same caller, not only any: a key that now opens other tools ends the stream as well. Changes that come
            // while we look are not lost, as the channel remembers that there was one.
            if self.admit(&web).ok().as_ref() != Some(&caller) {
                return;
            }
        }
        // The gateway is gone, and with it whatever fills the stream: it ends by itself, after what was said last.
        std::future::pending::<()>().await;
    }

    fn admit(&self, web: &Web) -> Result<Caller, Refusal> {
        let certificate = self.certificate.as_ref();
        let credential = shown(self.key.as_ref(), self.authorization.as_ref(), certificate);
        web.gateway.admit(credential, self.toolset.as_ref().map(|asked| &*asked.0))
    }
}
