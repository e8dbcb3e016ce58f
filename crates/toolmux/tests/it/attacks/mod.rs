//! Attacks on a real server, one file for each thing that an attacker wants. Each test is named after what must not
//! work.

mod arguments_as_options;
mod connections;
mod consent_of_another_user;
mod costly_input;
mod exhaustion;
mod foreign_handles;
mod foreign_secrets;
mod foreign_tokens;
mod leaks;
mod record_files;
mod removed_keys;
mod routes;
mod sandbox_escape;
mod upstream;
