//! The page that shows people what there is to call.

use toolmux_core::call::Caller;
use toolmux_core::catalog::{Catalog, Entry};
use toolmux_core::example::example_arguments;
use toolmux_core::plural::counted;
use toolmux_http::serve::curl;
use toolmux_http::serve::page::{Html, document};

use super::api_document::ApiInfo;

/// The tools of a caller, each with a command line that calls it.
pub(super) fn overview(catalog: &Catalog, caller: &Caller, info: &ApiInfo) -> String {
    let count = catalog.newest(caller).count();
    let mut html = Html::markup("<p>").text(&counted(count, "tool")).then(
        ". Each is called by POST with its arguments as a JSON object; the answer is the value that it returned. \
         Described for programs in <a href=\"",
    );
    html = html.text(&format!("{}/openapi.json", info.base)).then("\">openapi.json</a> (OpenAPI 3.1).</p>");
    if info.asks_for_key {
        html = html.then("<p>Every call needs the header <code>Authorization: Bearer KEY</code>.</p>");
    }
    if info.base.starts_with('/') {
        html = html
            .then("<p class=\"small\">The lines below need the address of this server before the path.</p>");
    }
    let html = catalog.newest(caller).fold(html, |html, entry| tool(html, entry, info));
    document("Tools", html)
}

fn tool(html: Html, entry: &Entry, info: &ApiInfo) -> Html {
    let line =
        curl::post(&format!("{}/{}", info.base, entry.flat), &example_arguments(entry.tool.input.value()));
    let html = html.then("<h2>").text(&entry.flat).then("</h2>");
    let html = match entry.tool.description.trim() {
        "" => html,
        described => {
            described.lines().fold(html.then("<p>"), |html, line| html.text(line).then("<br>")).then("</p>")
        }
    };
    html.then("<pre>").text(&line).then("</pre>")
}
