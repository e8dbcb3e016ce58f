//! OpenTool documents, versions 1.0.0 and 1.1.0: a typed model, a reader that tells every fault with its
//! place and remedy, and both directions between documents and the tools of the catalogue.

mod describe;
mod express;
mod load;
mod notes;
mod objects;
mod read;
mod read_schema;
mod resolve;

pub(super) use self::load::read_leniently;
pub use self::load::{LoadError, check};
pub use self::objects::{
    DocumentServer, Function, FunctionSchema, Info, OpenTool, Parameter, Properties, Reference, Return, Type,
    Typed,
};
