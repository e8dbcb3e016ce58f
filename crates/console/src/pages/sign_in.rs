//! Signing in with a key or a token, and out again.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use maud::html;
use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::gateway::Credential;
use toolmux_core::secret::Secret;
use toolmux_http::serve::Web;
use url::form_urlencoded;

use crate::answer::{self, refused, see_other, told};
use crate::change::Change;
use crate::console::Console;
use crate::pages::layout::{bare, root_of};

/// The page that asks for a key; `why` says what was wrong with the last one.
pub(crate) fn page(uri: &Uri, why: Option<&str>) -> String {
    let root = root_of(uri);
    let body = html! {
        h1 { "Sign in" }
        @if let Some(why) = why { p.notice.bad role="alert" { (why) } }
        form method="post" action={ (root) "console/sign-in" } {
            label for="key" { "Key or token of an operator" }
            input #key type="password" name="key" required autofocus autocomplete="current-password" spellcheck="false"
                aria-describedby="hint";
            p.small #hint { "A key with " code { "operator = true" } ": "
                code { "toolmux keys add NAME --operator" } " makes one." }
            button.primary { "Sign in" }
        }
    };
    bare("Sign in", uri, &body)
}

pub(crate) async fn show(State(web): State<Arc<Web>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    match parts.extensions.get::<Arc<Console>>() {
        Some(_) if web.gateway.admission().info().is_open => see_other("../console"),
        Some(_) => answer::page(StatusCode::OK, page(&parts.uri, None)),
        None => told(&parts.uri, StatusCode::NOT_FOUND, "there is nothing at this address"),
    }
}

pub(crate) async fn take(State(web): State<Arc<Web>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Some(console) = parts.extensions.get::<Arc<Console>>().cloned() else {
        return told(&parts.uri, StatusCode::NOT_FOUND, "there is nothing at this address");
    };
    if let Some(wait) = console.sessions.wait() {
        let what = format!("Too many attempts failed. Try again in {} seconds.", wait.as_secs() + 1);
        let mut response = answer::page(StatusCode::TOO_MANY_REQUESTS, page(&parts.uri, Some(&what)));
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1));
        return response;
    }
    let body = match web.body(&parts.headers, body).await {
        Ok(body) => body,
        Err(refusal) => return refused(&parts.uri, &refusal),
    };
    let field = |wanted: &str| {
        let mut fields = form_urlencoded::parse(&body);
        fields.find(|(name, _)| name == wanted).map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let key = Secret::new(field("key"));
    match check(&web, &parts, &key) {
        Ok(name) => begin(&web, &console, &name, (key, own_page(&parts.headers))),
        Err(why) => {
            console.sessions.failed();
            answer::page(StatusCode::UNAUTHORIZED, page(&parts.uri, Some(why)))
        }
    }
}

/// The name of the operator whose key it is.
fn check(web: &Web, parts: &Parts, key: &Secret) -> Result<String, &'static str> {
    let asked = parts.extensions.get::<toolmux_http::serve::AskedToolset>().map(|asked| &*asked.0);
    let caller = web.gateway.admit(Credential::Bearer(key.expose()), asked);
    let caller = caller.map_err(|_| "This key is not known.")?;
    if web.gateway.admission().is_operator(&caller) {
        Ok(caller.name().to_owned())
    } else {
        Err("This key is known, but it is not that of an operator.")
    }
}

fn begin(web: &Web, console: &Arc<Console>, name: &str, (key, next): (Secret, String)) -> Response {
    let token = console.sessions.begin(key);
    web.gateway.audit(AuditRecord::now(name, AuditAction::ConsoleSignedIn, ""));
    let mut response = see_other(&format!("..{next}"));
    let cookie = console.cookie.set(token.expose(), console.sessions.life().as_secs());
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// The page that somebody wanted, on which the form stood: the browser says which. Only a page of ours, so that no link leads
/// elsewhere through the sign-in; a path of a proxy before it is left to the browser.
fn own_page(headers: &HeaderMap) -> String {
    let referer = headers.get(header::REFERER).and_then(|referer| referer.to_str().ok()?.parse::<Uri>().ok());
    let path = referer.as_ref().and_then(Uri::path_and_query).map_or("", |path| path.as_str());
    let own = path.find("/console").map_or("", |place| &path[place..]);
    let is_page = own == "/console" || own.starts_with("/console/") || own.starts_with("/console?");
    let is_good =
        is_page && !own.contains("//") && !own.contains(['\\', '#']) && !own.starts_with("/console/sign-in");
    if is_good { own.to_owned() } else { "/console".to_owned() }
}

pub(crate) async fn sign_out(change: Change) -> Response {
    let Change { operator, .. } = change;
    let console = &operator.console;
    if let Some(token) = console.cookie.shown(&operator.headers) {
        console.sessions.end(token);
        operator.web.gateway.audit(AuditRecord::now(
            operator.caller.name(),
            AuditAction::ConsoleSignedOut,
            "",
        ));
    }
    let mut response = see_other("sign-in");
    if let Ok(cookie) = HeaderValue::from_str(&console.cookie.set("", 0)) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_leads_to_our_own_pages_only() {
        for (referer, expect) in [
            ("http://127.0.0.1:9627/console/tools?q=a", "/console/tools?q=a"),
            ("https://tools.example/mux/console/calls", "/console/calls"),
            ("http://127.0.0.1:9627/console", "/console"),
            ("http://127.0.0.1:9627/console/sign-in", "/console"),
            ("", "/console"),
            ("http://h/consolex", "/console"),
            ("https://evil.example/", "/console"),
            ("https://h/console/..//evil.example", "/console"),
        ] {
            let value = HeaderValue::from_str(referer).expect("a value");
            assert_eq!(own_page(&HeaderMap::from_iter([(header::REFERER, value)])), expect, "{referer}");
        }
    }
}
