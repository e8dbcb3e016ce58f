//! The page that says who asks for access to what, before the user goes on to the provider.

use axum::response::Response;
use http::StatusCode;
use toolmux_core::ports::broker::ConsentRequest;
use toolmux_http::serve::page::{Html, whole};

/// The field that holds the value of the form.
pub(crate) const FORM_TOKEN: &str = "form";
/// The field for a token that proves who the user is.
pub(crate) const PROOF: &str = "token";
/// The field that says that the user wants to sign in instead, with `YES` in it.
pub(crate) const SIGN_IN: &str = "sign_in";
/// The value of the form when the user agrees.
pub(crate) const YES: &str = "yes";

/// Shows who asks for which scopes of which provider, and asks the user to agree.
pub(crate) fn consent_page(asked: &ConsentRequest) -> Response {
    let asker = asker(asked);
    let html = Html::markup("<p><strong>").text(&asker).then("</strong> asks for access to your account at ");
    let html = html.text(&asked.provider_host);
    let html = html.then(". That caller can then use it with the tools of this server.</p>");
    let html = details(html, asked, &asker).then(
        "<p class=\"warning\"><strong>Continue only if you asked for this yourself, just now.</strong> If somebody sent \
         you the link to this page, close it: continuing would let them use your account.</p>",
    );
    let html = match (&asked.subject, &asked.sign_in_host) {
        (None, _) => continue_button(form(html, asked), asked),
        (Some(subject), None) => token_field(form(html, asked), asked, subject),
        (Some(subject), Some(host)) => {
            let html = sign_in_button(form(html, asked), asked, host);
            let html = html.then("<details><summary>Use a token instead</summary>");
            token_field(form(html, asked), asked, subject).then("</details>")
        }
    };
    let html = html.then("<p class=\"small\">Nothing happens when you close this page.</p>");
    whole(StatusCode::OK, &format!("Allow access to {}?", asked.provider), html)
}

/// Who asks, so that a key and a token of one name do not look the same.
fn asker(asked: &ConsentRequest) -> String {
    asked.subject.as_ref().map_or_else(|| asked.caller.clone(), |subject| format!("{subject} (by token)"))
}

fn details(html: Html, asked: &ConsentRequest, asker: &str) -> Html {
    let row = |html: Html, name: &'static str, value: &str| {
        html.then("<dt>").then(name).then("</dt><dd>").text(value).then("</dd>")
    };
    let mut html = row(html.then("<dl>"), "Asked by", asker);
    if !asked.user.is_empty() && asked.subject.as_ref() != Some(&asked.user) {
        html = row(html, "For the user", &asked.user);
    }
    html = row(html, "To use", &asked.needed_by);
    html = row(html, "Provider", &format!("{} ({})", asked.provider, asked.provider_host));
    html = html.then("<dt>Access</dt><dd><ul>");
    for scope in &asked.scopes {
        html = html.then("<li>").text(scope).then("</li>");
    }
    if asked.scopes.is_empty() {
        html = html.then("<li>the default access of the provider</li>");
    }
    html.then("</ul></dd></dl>")
}

/// The beginning of a form; what follows ends it.
fn form(html: Html, asked: &ConsentRequest) -> Html {
    let html =
        html.then("<form method=\"post\" autocomplete=\"off\"><input type=\"hidden\" name=\"form\" value=\"");
    html.text(asked.form_token.expose()).then("\">")
}

fn continue_button(html: Html, asked: &ConsentRequest) -> Html {
    html.then("<button type=\"submit\">Continue to ").text(&asked.provider_host).then("</button></form>")
}

fn sign_in_button(html: Html, asked: &ConsentRequest, host: &str) -> Html {
    let html = html.then("<input type=\"hidden\" name=\"sign_in\" value=\"yes\">");
    let html = html.then("<button type=\"submit\">Sign in at ").text(host);
    if host == asked.provider_host {
        return html.then(" and continue</button></form>");
    }
    html.then(" and continue to ").text(&asked.provider_host).then("</button></form>")
}

/// Asks for a token of the subject, or of the user for whom it acts.
fn token_field(html: Html, asked: &ConsentRequest, subject: &str) -> Html {
    let html = html.then(
        "<label for=\"token\">Your token for this server</label>\
         <input id=\"token\" type=\"password\" name=\"token\" required autocomplete=\"off\" spellcheck=\"false\" \
         aria-describedby=\"why\"><p class=\"small\" id=\"why\">A valid token of ",
    );
    let html = html.text(subject);
    let html = if asked.user.is_empty() || asked.user == subject {
        html
    } else {
        html.then(" or of ").text(&asked.user)
    };
    continue_button(html.then(" shows that it was you who asked. It is checked and not kept.</p>"), asked)
}
