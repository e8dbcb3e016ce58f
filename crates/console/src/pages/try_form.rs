//! The form that calls a tool: its arguments as JSON, which a script turns into fields for any schema.

use maud::{Markup, html};

use crate::operator::Operator;
use crate::pages::layout::{csrf_field, root_of};
use crate::pages::parts::command_line;
use crate::view::ToolDetail;

/// The form of a tool, with these arguments or an example of some. Its schema is in an attribute, where nothing of it can run.
pub(crate) fn try_form(operator: &Operator, tool: &ToolDetail, arguments: Option<&str>) -> Markup {
    let example = serde_json::to_string_pretty(&tool.example).unwrap_or_default();
    let root = root_of(&operator.uri);
    let is_destructive = tool.hints["destructive"] == true;
    let is_known_harmless = tool.hints["read_only"] == true;
    html! {
        form.try #try-form method="post" action={ (root) "console/tools/" (tool.id) }
            data-schema=(tool.input) data-example=(tool.example) data-given=[arguments]
            data-call={ (root) "console/api/tools/" (tool.id) "/call" }
            data-confirm=[is_destructive.then_some(tool.name.as_str())] {
            (csrf_field(operator))
            div.columns {
                div.fields #fields hidden {}
                div.json-side {
                    label for="arguments" { "Arguments (JSON)" }
                    textarea #arguments name="arguments" rows="10" spellcheck="false" autocapitalize="off" autocomplete="off" {
                        (arguments.unwrap_or(&example))
                    }
                    p.notice.bad #json-error role="alert" hidden {}
                }
            }
            @if is_destructive {
                label.confirm { input type="checkbox" name="confirm" required; " This tool may destroy something. Call it anyway." }
            }
            div.actions {
                button.primary #call { "Call" }
                button.quiet #cancel type="button" hidden { "Cancel" }
                span.small { "as " b { (operator.caller.name()) }
                    @if !is_known_harmless && !is_destructive { ". Its source does not say that it only reads." } }
            }
            (command_line(&format!("toolmux call {} --url {}", tool.id, crate::pages::tool::base(operator))))
        }
    }
}
