//! The console: what operators see and do in a browser (`/console`) and as JSON (`/console/api`). It reads core and knows
//! nothing of protocols; what only the program knows comes in by [`ProgramView`].

mod answer;
mod api;
mod asset;
mod attempts;
mod calls_query;
mod change;
mod charts;
mod console;
mod conversation;
mod cookie;
mod invisible;
mod key_management;
mod operator;
mod pages;
mod program;
mod schema_rows;
mod series;
mod served;
mod sessions;
mod view;

pub use self::calls_query::{MOST_LISTED, since};
pub use self::console::{Console, ConsoleSettings};
pub use self::key_management::{KnownNames, NewKey, revoke as revoke_key, shown as key_as_json};
pub use self::program::{
    ClientSnippet, ConfigurationView, Consent, NoProgram, ProgramView, ProtocolView, SourceOrigin,
};
pub use self::served::SERVED;
