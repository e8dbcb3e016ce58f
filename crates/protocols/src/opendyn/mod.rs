//! OpenDyn: functions of C libraries as tools. Documents are read and checked here, values cross between
//! JSON and bytes here, and workers are watched here; the C side is the crate `toolmux-dylib-host`.

mod carrier;
mod decode;
mod document;
mod encode;
mod encode_element;
mod handle;
mod plan;
mod schema;

pub use self::plan::check;
