//! OpenDyn: functions of C libraries as tools. Documents are read and checked here, values cross between
//! JSON and bytes here, and workers are watched here; the C side is the crate `toolmux-dylib-host`.

mod carrier;
mod decode;
mod document;
mod encode;
mod encode_element;
mod handle;
mod in_process;
mod plan;
mod schema;
mod settings;
mod source;
mod supervise;

pub use self::plan::check;
pub(crate) use self::source::SOURCE;
pub use self::source::open;
pub use self::supervise::become_worker_if_asked;
