//! The configuration as it was read. It stays a file: nothing is changed here.

use axum::response::Response;
use maud::html;

use crate::operator::Operator;
use crate::pages::layout::Page;
use crate::pages::parts::{age, command_line, text};

pub(crate) async fn show(operator: Operator) -> Response {
    let configuration = operator.console.program.configuration();
    let body = html! {
        div.head { h1 { "Configuration" } }
        @match &configuration {
            None => { p.empty { "This server was started without a configuration file." } }
            Some(read) => {
                @if let Some(fault) = &read.fault {
                    div.notice.bad role="alert" { p { "The file as it is now cannot be used; the server goes on with what it read before." } pre tabindex="0" { (text(fault)) } }
                }
                @if !read.needs_restart.is_empty() {
                    p.notice.warn { "Changed, and taken up by a restart only: "
                        @for key in &read.needs_restart { code { (key) } " " } }
                }
                dl.facts {
                    div { dt { "File" } dd.mono { (read.file.as_deref().unwrap_or("none")) } }
                    div { dt { "Read" } dd { (age(&read.read)) } }
                }
                p.small { "Texts that can be secret, and comments, are starred out. The file is where it is changed; the server takes changes up by itself." }
                pre.config tabindex="0" { (text(&read.text)) }
                (command_line(&format!("toolmux check {}", read.file.as_deref().unwrap_or("toolmux.toml"))))
            }
        }
    };
    Page { operator: &operator, title: "Configuration", at: "console/config", modules: &[] }.show(&body)
}
