//! The pages, rendered here: each says what is known when it is asked for, and works without scripts.

mod callers;
mod calls;
mod config;
mod connect;
mod layout;
mod overview;
mod parts;
mod receipt;
mod result;
mod sign_in;
mod sources;
mod tasks;
mod tool;
mod tool_list;
mod try_form;

pub(crate) use self::callers::{change as change_callers, show as callers};
pub(crate) use self::calls::{list as calls, show as call};
pub(crate) use self::config::show as configuration;
pub(crate) use self::connect::{show as connect, with_key as connect_with_key};
pub(crate) use self::layout::error_page;
pub(crate) use self::overview::show as overview;
pub(crate) use self::parts::{number as format_number, seconds as format_seconds};
pub(crate) use self::result::result_html;
pub(crate) use self::sign_in::{page as sign_in_page, show as sign_in, sign_out, take as signed_in};
pub(crate) use self::sources::{list as sources, one as source, restart as restart_source};
pub(crate) use self::tasks::{change as change_task, list as tasks, one as task};
pub(crate) use self::tool::{show as tool, try_tool};
pub(crate) use self::tool_list::list as tools;
