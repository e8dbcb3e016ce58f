//! A request that changes something. One that a browser sends by itself, with a cookie, a certificate or nothing, must also
//! bring what only a page of ours was given (CSRF): in a header, or in a field of a form.

use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::response::Response;
use http::{HeaderMap, HeaderName, StatusCode, header};
use toolmux_http::serve::{FETCH_SITE, Received, Web};
use url::form_urlencoded;

use crate::answer::{refused, told};
use crate::operator::Operator;
use crate::sessions::{SessionMark, is_same};

static CSRF: HeaderName = HeaderName::from_static("x-csrf-token");
/// The field of forms for the same.
pub(crate) const CSRF_FIELD: &str = "csrf";

/// An operator who changes something, with what was sent.
pub(crate) struct Change {
    pub(crate) operator: Operator,
    pub(crate) body: Received,
}

impl Change {
    /// The fields of a form.
    pub(crate) fn fields(&self) -> Vec<(String, String)> {
        form_urlencoded::parse(&self.body).into_owned().collect()
    }

    /// One field of a form.
    pub(crate) fn field(&self, wanted: &str) -> Option<String> {
        self.fields()
            .into_iter()
            .find(|(name, value)| name == wanted && !value.is_empty())
            .map(|(_, value)| value)
    }
}

impl FromRequest<Arc<Web>> for Change {
    type Rejection = Response;

    async fn from_request(request: Request, web: &Arc<Web>) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        let operator = Operator::admit(web, &parts).map_err(|refused| *refused)?;
        let body = web.body(&parts.headers, body).await.map_err(|refusal| refused(&parts.uri, &refusal))?;
        let change = Change { operator, body };
        let is_session = parts.extensions.get::<SessionMark>().is_some();
        if needs_token(&parts.headers, is_session) && !change.has_token() {
            let what = "this page is too old or was not made by this server; load it again";
            return Err(told(&parts.uri, StatusCode::FORBIDDEN, what));
        }
        Ok(change)
    }
}

impl Change {
    fn has_token(&self) -> bool {
        let sent = self.operator.headers.get(&CSRF).and_then(|value| value.to_str().ok());
        let field = || self.field(CSRF_FIELD);
        sent.map(str::to_owned).or_else(field).is_some_and(|sent| is_same(&self.operator.csrf, &sent))
    }
}

/// Whether a browser may have sent a request without a page of ours: programs that show a key themselves did not.
fn needs_token(headers: &HeaderMap, is_session: bool) -> bool {
    let by_browser = headers.contains_key(header::ORIGIN) || headers.contains_key(&FETCH_SITE);
    is_session || (by_browser && !headers.contains_key(header::AUTHORIZATION))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn check(names: &[&HeaderName], is_session: bool, expect: bool) {
        let pairs = names.iter().map(|name| ((*name).clone(), HeaderValue::from_static("x")));
        assert_eq!(needs_token(&pairs.collect(), is_session), expect, "{names:?} {is_session}");
    }

    #[test]
    fn what_browsers_send_by_themselves_needs_a_token() {
        check(&[], false, false);
        check(&[&header::AUTHORIZATION], false, false);
        check(&[&header::AUTHORIZATION], true, true);
        check(&[&header::ORIGIN], false, true);
        check(&[&FETCH_SITE], false, true);
        check(&[&FETCH_SITE, &header::AUTHORIZATION], false, false);
    }
}
