//! What every page has: its head, the way to the others, and who is signed in. Addresses are relative, so that the console
//! works below any path of a proxy.

use axum::response::Response;
use http::{StatusCode, Uri};
use maud::{DOCTYPE, Markup, html};

use crate::answer::page;
use crate::change::CSRF_FIELD;
use crate::operator::Operator;

/// The pages that are reached from every page: where, and what they are called.
const PAGES: [(&str, &str); 8] = [
    ("console", "Overview"),
    ("console/tools", "Tools"),
    ("console/calls", "Calls"),
    ("console/tasks", "Tasks"),
    ("console/sources", "Sources"),
    ("console/callers", "Callers"),
    ("console/config", "Configuration"),
    ("console/connect", "Connect"),
];

/// The way from a page to the root of the server.
pub(crate) fn root_of(uri: &Uri) -> String {
    "../".repeat(uri.path().matches('/').count().saturating_sub(1))
}

/// What is needed to show a page.
pub(crate) struct Page<'a> {
    pub(crate) operator: &'a Operator,
    pub(crate) title: &'a str,
    /// Which of the pages that are reached from every page it belongs to.
    pub(crate) at: &'a str,
    /// The modules that it uses.
    pub(crate) modules: &'a [&'a str],
}

impl Page<'_> {
    /// The answer that shows it.
    pub(crate) fn show(&self, body: &Markup) -> Response {
        self.show_as(StatusCode::OK, body)
    }

    pub(crate) fn show_as(&self, status: StatusCode, body: &Markup) -> Response {
        let root = root_of(&self.operator.uri);
        let csrf = self.operator.csrf.expose();
        let html = html! {
            (DOCTYPE)
            html lang="en" data-root=(root) data-csrf=(csrf) {
                (head(self.title, &root, self.modules))
                body {
                    a.skip href="#main" { "Skip to content" }
                    (self.navigation(&root))
                    main #main tabindex="-1" { (body) }
                }
            }
        };
        page(status, html.into_string())
    }

    fn navigation(&self, root: &str) -> Markup {
        let operator = self.operator;
        html! {
            header.bar {
                a.brand href={ (root) "console" } { (mark()) span { "toolmux" } }
                nav aria-label="Console" {
                    @for (path, name) in PAGES {
                        a href={ (root) (path) } aria-current=[(self.at == path).then_some("page")] { (name) }
                    }
                }
                div.who {
                    span.name title="Who is signed in" { (operator.caller.name()) }
                    @if operator.is_signed_in {
                        form method="post" action={ (root) "console/sign-out" } {
                            (csrf_field(operator))
                            button.quiet { "Sign out" }
                        }
                    }
                }
            }
        }
    }
}

/// The hidden field without which a form changes nothing.
pub(crate) fn csrf_field(operator: &Operator) -> Markup {
    html! { input type="hidden" name=(CSRF_FIELD) value=(operator.csrf.expose()); }
}

fn head(title: &str, root: &str, modules: &[&str]) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) " · toolmux" }
            link rel="icon" type="image/svg+xml" href={ (root) "console/assets/icon.svg" };
            @for style in ["colours.css", "console.css"] { link rel="stylesheet" href={ (root) "console/assets/" (style) }; }
            @for module in ["console.js"].iter().chain(modules) {
                script type="module" src={ (root) "console/assets/" (module) } {}
            }
        }
    }
}

/// The mark of the program: many lines into one.
fn mark() -> Markup {
    html! {
        svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true" {
            path d="M2 4h4l5 6h7M2 16h4l5-6M2 10h9" fill="none" stroke="currentColor" stroke-width="2" {}
        }
    }
}

/// A page for whoever is not signed in.
pub(crate) fn bare(title: &str, uri: &Uri, body: &Markup) -> String {
    let root = root_of(uri);
    html! {
        (DOCTYPE)
        html lang="en" data-root=(root) {
            (head(title, &root, &[]))
            body.bare { main #main { div.brand { (mark()) span { "toolmux" } } (body) } }
        }
    }
    .into_string()
}

/// A page that says why there is nothing else.
pub(crate) fn error_page(uri: &Uri, status: StatusCode, what: &str) -> String {
    let title = status.canonical_reason().unwrap_or("Error");
    bare(
        title,
        uri,
        &html! { h1 { (title) } p { (what) } p { a href={ (root_of(uri)) "console" } { "To the overview" } } },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_relative_to_the_page() {
        for (path, expect) in
            [("/console", ""), ("/console/tools", "../"), ("/console/tools/a.b@1", "../../")]
        {
            assert_eq!(root_of(&path.parse().unwrap()), expect, "{path}");
        }
    }
}
