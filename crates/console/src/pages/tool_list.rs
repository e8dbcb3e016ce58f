//! The catalogue: searched and filtered by its address, a page at a time.

use axum::response::Response;
use maud::{Markup, html};
use url::form_urlencoded;

use crate::operator::Operator;
use crate::pages::layout::{Page, root_of};
use crate::pages::parts::{number, text};
use crate::view::{self, ToolFilter, ToolList, ToolRow};

/// What a list may be narrowed to: the word of the address and the words of the page.
const ONLY: [(&str, &str); 7] = [
    ("", "all tools"),
    ("read_only", "read-only"),
    ("destructive", "destructive"),
    ("needs", "needs credentials"),
    ("called", "called since the start"),
    ("failing", "with failures"),
    ("unserved", "not served"),
];

pub(crate) async fn list(operator: Operator) -> Response {
    let query = operator.query();
    let filter = ToolFilter::read(&query);
    let list = view::tools(&operator, &filter);
    let body = html! {
        div.head {
            h1 { "Tools" }
            p.small #count aria-live="polite" { (counted(&list)) }
        }
        (filters(&operator, &filter, &query))
        @if list.tools.is_empty() {
            p.empty { @if list.all == 0 { "No tool is served yet." } @else { "No tool fits. " a href="tools" { "Show all" } } }
        } @else {
            (table(&operator, &list.tools))
            (pages(&list, &query))
        }
    };
    Page { operator: &operator, title: "Tools", at: "console/tools", modules: &[] }.show(&body)
}

fn counted(list: &ToolList) -> String {
    let all = number(list.all as u64);
    if list.fitting == list.all { all } else { format!("{} of {all}", number(list.fitting as u64)) }
}

fn filters(operator: &Operator, filter: &ToolFilter, query: &[(String, String)]) -> Markup {
    let words = query.iter().find(|(name, _)| name == "q").map(|(_, value)| value.as_str());
    let sources: Vec<String> =
        operator.web.gateway.sources().reports().into_iter().map(|report| report.name).collect();
    let catalog = operator.web.gateway.catalog();
    html! {
        form.filters role="search" method="get" data-live {
            input type="search" name="q" value=[words] placeholder="Search names and descriptions" aria-label="Search" autofocus;
            select name="source" aria-label="Source" {
                option value="" { "all sources" }
                @for source in &sources {
                    option value=(source) selected[filter.source.as_ref() == Some(source)] { (text(source)) }
                }
            }
            @if !catalog.toolsets().is_empty() {
                select name="toolset" aria-label="Toolset" {
                    option value="" { "all toolsets" }
                    @for (toolset, tools) in catalog.toolsets() {
                        option value=(toolset) selected[filter.toolset.as_deref() == Some(toolset)] { (toolset) " (" (tools) ")" }
                    }
                }
            }
            select name="only" aria-label="Which tools" {
                @for (word, words) in ONLY {
                    option value=(word) selected[filter.only.as_deref().unwrap_or_default() == word] { (words) }
                }
            }
            button { "Search" }
        }
    }
}

fn table(operator: &Operator, tools: &[ToolRow]) -> Markup {
    let root = root_of(&operator.uri);
    html! {
        div.scroll {
            table.list {
                thead { tr { th { "Tool" } th { "Description" } th { "Source" } th.number { "Calls" } th.number { "Failed" } } }
                tbody {
                    @for tool in tools {
                        tr {
                            th scope="row" {
                                @if tool.id.is_empty() { span.mono { (text(&tool.name)) } }
                                @else { a.mono href={ (root) "console/tools/" (tool.id) } { (text(&tool.name)) } }
                            }
                            td.wide { (text(&tool.summary)) " " (tags(tool)) }
                            td { (text(&tool.source)) }
                            td.number { @if tool.calls > 0 { (number(tool.calls)) } }
                            td.number { @if tool.failed > 0 { span.bad { (number(tool.failed)) } } }
                        }
                    }
                }
            }
        }
    }
}

fn tags(tool: &ToolRow) -> Markup {
    html! {
        @if tool.read_only { span.tag { "read-only" } }
        @if tool.destructive { span.tag.warn { "destructive" } }
        @if tool.needs { span.tag { "needs credentials" } }
    }
}

fn pages(list: &ToolList, query: &[(String, String)]) -> Markup {
    let at = |page: usize| {
        let mut address = form_urlencoded::Serializer::new(String::new());
        address.extend_pairs(query.iter().filter(|(name, value)| name != "page" && !value.is_empty()));
        format!("?{}", address.append_pair("page", &page.to_string()).finish())
    };
    html! {
        @if list.pages > 1 {
            nav.pages aria-label="Pages" {
                @if list.page > 1 { a rel="prev" href=(at(list.page - 1)) { "← Previous" } } @else { span {} }
                span.small { "Page " (list.page) " of " (number(list.pages as u64)) }
                @if list.page < list.pages { a rel="next" href=(at(list.page + 1)) { "Next →" } } @else { span {} }
            }
        }
    }
}
