//! OXP 1.0, the Open eXecution Protocol: health, tools, calls, in both published body forms.

mod inline;
mod list;
mod serve;
mod version;
mod wire;

pub(crate) use self::serve::SERVED;
pub use self::version::OXP_VERSION;
pub(crate) use self::version::stamp;
