//! The page that says who asks for access to what, before the user goes on to the provider.

use axum::response::Response;
use http::StatusCode;
use toolmux_core::broker::ConsentRequest;

use super::page::{Html, whole};

/// The names of the form's fields.
pub(super) const FORM_TOKEN: &str = "form";
/// The same.
pub(super) const PROOF: &str = "token";

/// The page.
pub(super) fn consent_page(asked: &ConsentRequest) -> Response {
    let html =
        Html::markup("<p><strong>").text(&asked.caller).then("</strong> asks for access to your account at ");
    let html =
        html.text(&asked.provider_host).then(". Whoever asks can then use it with the tools of this server.");
    let html = details(html.then("</p>"), asked);
    let html = html.then(
        "<p class=\"warning\"><strong>Go on only if you asked for this yourself, just now.</strong> If somebody sent \
         you the link to this page, close it: going on would let them use your account.</p>\
         <form method=\"post\" autocomplete=\"off\"><input type=\"hidden\" name=\"form\" value=\"",
    );
    let html = proof(html.text(asked.form_token.expose()).then("\">"), asked);
    let html =
        html.then("<button type=\"submit\">Continue to ").text(&asked.provider_host).then("</button></form>");
    let html = html.then("<p class=\"small\">Nothing happens when you close this page.</p>");
    whole(StatusCode::OK, &format!("Allow access to {}?", asked.provider), html)
}

fn details(html: Html, asked: &ConsentRequest) -> Html {
    let row = |html: Html, name: &'static str, value: &str| {
        html.then("<dt>").then(name).then("</dt><dd>").text(value).then("</dd>")
    };
    let mut html = row(html.then("<dl>"), "Asked by", &asked.caller);
    if !asked.user.is_empty() {
        html = row(html, "For the user", &asked.user);
    }
    html = row(html, "To use", &asked.needed_by);
    html = row(html, "Provider", &format!("{} ({})", asked.provider, asked.provider_host));
    html = html.then("<dt>Access</dt><dd><ul>");
    for scope in &asked.scopes {
        html = html.then("<li>").text(scope).then("</li>");
    }
    if asked.scopes.is_empty() {
        html = html.then("<li>what the provider gives when nothing else is asked for</li>");
    }
    html.then("</ul></dd></dl>")
}

/// Asks for a token of the subject, where callers show tokens.
fn proof(html: Html, asked: &ConsentRequest) -> Html {
    let Some(subject) = &asked.subject else { return html };
    let html = html.then("<label for=\"token\">Your token for this server</label>");
    let html = html.then(
        "<input id=\"token\" type=\"password\" name=\"token\" required autocomplete=\"off\" spellcheck=\"false\" \
         aria-describedby=\"why\"><p class=\"small\" id=\"why\">A valid token of ",
    );
    let html = html.text(subject);
    let html = if asked.user.is_empty() || asked.user == *subject {
        html
    } else {
        html.then(" or of ").text(&asked.user)
    };
    html.then(" shows that it was you who asked. It is checked and not kept.</p>")
}
