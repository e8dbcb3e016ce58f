//! An OpenDyn document as its author wrote it, extensions included: checked member by member, but not yet
//! against what C can do with it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Number, Value};
use toolmux_dylib_host::callback::{CallbackPart, CallbackReturn, Compared};
use toolmux_dylib_host::plan::{By, VariableIs};
use toolmux_dylib_host::scalar::Scalar;

use crate::opendyn::layout::Layout;

/// A whole document.
pub(in crate::opendyn) struct Document {
    pub(in crate::opendyn) version: String,
    /// What the library is for.
    pub(in crate::opendyn) about: Option<String>,
    pub(in crate::opendyn) functions: Vec<Function>,
    /// Functions that could not even be read, each with its first fault.
    pub(in crate::opendyn) unreadable: Vec<(String, String)>,
    /// Texts for values that functions return.
    pub(in crate::opendyn) codes: HashMap<String, String>,
}

pub(in crate::opendyn) struct Function {
    /// Where it stands among the functions of the document.
    pub(in crate::opendyn) index: usize,
    pub(in crate::opendyn) name: String,
    pub(in crate::opendyn) symbol: String,
    pub(in crate::opendyn) description: String,
    pub(in crate::opendyn) parameters: Vec<Parameter>,
    pub(in crate::opendyn) returns: Option<Return>,
    /// What is given of a symbol that is a variable.
    pub(in crate::opendyn) variable: Option<VariableIs>,
    /// Parameters before `...`.
    pub(in crate::opendyn) fixed: Option<usize>,
    pub(in crate::opendyn) errno: bool,
    pub(in crate::opendyn) error_message: Option<ErrorMessage>,
    pub(in crate::opendyn) timeout: Option<Duration>,
}

/// The function that says why the last call failed.
pub(in crate::opendyn) struct ErrorMessage {
    pub(in crate::opendyn) symbol: String,
    /// The parameter that it takes too, or `return` for the returned value; nothing when it takes nothing.
    pub(in crate::opendyn) of: Option<String>,
    /// Whether what it returns leads to a structure that begins with the text.
    pub(in crate::opendyn) indirect: bool,
}

pub(in crate::opendyn) struct Parameter {
    pub(in crate::opendyn) name: String,
    pub(in crate::opendyn) description: Option<String>,
    pub(in crate::opendyn) form: Form,
    pub(in crate::opendyn) flow: Flow,
    pub(in crate::opendyn) required: bool,
}

/// Which way a parameter carries a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::opendyn) enum Flow {
    In,
    Out,
    InOut,
}

pub(in crate::opendyn) struct Return {
    pub(in crate::opendyn) name: String,
    pub(in crate::opendyn) description: Option<String>,
    pub(in crate::opendyn) form: Form,
    pub(in crate::opendyn) success: Option<Success>,
}

/// Which return values mean that the function did what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::opendyn) enum Success {
    OneOf(Vec<i64>),
    IsNot(i64),
    Above(i64),
    AtLeast(i64),
    NonNull,
    /// What is returned is the length of an output that has room for it.
    Fits,
}

/// Schema and CType together.
#[expect(clippy::struct_excessive_bools, reason = "they are the switches of a CType")]
pub(in crate::opendyn) struct Form {
    pub(in crate::opendyn) kind: Kind,
    pub(in crate::opendyn) description: Option<String>,
    /// Nothing is `void`.
    pub(in crate::opendyn) scalar: Option<Scalar>,
    pub(in crate::opendyn) pointer: bool,
    pub(in crate::opendyn) size: Option<Size>,
    pub(in crate::opendyn) length_of: Option<String>,
    pub(in crate::opendyn) length_from: Option<LengthFrom>,
    /// The parameter to whose start or end it points.
    pub(in crate::opendyn) edge: Option<(String, By)>,
    pub(in crate::opendyn) encoding: Encoding,
    pub(in crate::opendyn) free: Option<String>,
    pub(in crate::opendyn) indirect: bool,
    pub(in crate::opendyn) handle: Option<String>,
    pub(in crate::opendyn) closes: bool,
    /// A function of ours that the library calls.
    pub(in crate::opendyn) callback: Option<Callback>,
    /// Fixed and hidden; `null` is NULL.
    pub(in crate::opendyn) constant: Option<Value>,
    pub(in crate::opendyn) default: Option<Value>,
    pub(in crate::opendyn) minimum: Option<Number>,
    pub(in crate::opendyn) maximum: Option<Number>,
    /// Values that may be given by name.
    pub(in crate::opendyn) names: Option<Arc<ValueNames>>,
    /// The structure that it is or points to.
    pub(in crate::opendyn) structure: Option<Arc<Layout>>,
    /// Whether it is pointers to texts.
    pub(in crate::opendyn) texts: bool,
    /// The parameter whose object a copy of it belongs to, or `return`.
    pub(in crate::opendyn) kept_by: Option<String>,
    /// Whether `null` may be given for a pointer that must be given.
    pub(in crate::opendyn) null: NullPointer,
}

/// Functions of ours that a library may call.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::opendyn) enum Callback {
    /// Collects rows: `int (*)(void *, int, char **, char **)`.
    Rows,
    /// Collects what it is called with.
    Collect {
        parts: Vec<CallbackPart>,
        returns: CallbackReturn,
        /// What it returns when there is no room for more.
        full: i64,
        /// The parameter whose object keeps the callback.
        of: Option<String>,
    },
    /// Orders two elements.
    Compare(Compared),
}

/// Whether a pointer that must be given may be given as `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::opendyn) enum NullPointer {
    Refused,
    Allowed,
}

/// Names for whole numbers.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::opendyn) struct ValueNames {
    pub(in crate::opendyn) values: Vec<(String, i64)>,
    /// Whether several may be given at once, as bits of one number.
    pub(in crate::opendyn) flags: bool,
}

/// The JSON side of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::opendyn) enum Kind {
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

/// How bytes are written as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::opendyn) enum Encoding {
    #[default]
    Utf8,
    Hex,
    Base64,
    /// A text that is JSON itself.
    Json,
}

/// A number of elements.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::opendyn) enum Size {
    Fixed(u64),
    Of { parameter: String, times: f64, plus: i64 },
}

/// How much of a buffer is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::opendyn) enum LengthFrom {
    Nul,
    All,
    Return,
    Parameter(String),
}

impl Kind {
    pub(in crate::opendyn) const WORDS: [(&'static str, Kind); 6] = [
        ("boolean", Kind::Boolean),
        ("integer", Kind::Integer),
        ("number", Kind::Number),
        ("string", Kind::String),
        ("array", Kind::Array),
        ("object", Kind::Object),
    ];

    pub(in crate::opendyn) fn word(self) -> &'static str {
        match self {
            Kind::Boolean => "boolean",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::String => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        }
    }
}

/// The words of `cType.type`, with what they stand for; `void` stands for nothing.
pub(in crate::opendyn) const C_TYPES: [(&str, Option<Scalar>); 14] = [
    ("void", None),
    ("bool", Some(Scalar::Bool)),
    ("char", Some(Scalar::Char)),
    ("unsigned char", Some(Scalar::UnsignedChar)),
    ("short", Some(Scalar::Short)),
    ("unsigned short", Some(Scalar::UnsignedShort)),
    ("int", Some(Scalar::Int)),
    ("unsigned int", Some(Scalar::UnsignedInt)),
    ("long", Some(Scalar::Long)),
    ("unsigned long", Some(Scalar::UnsignedLong)),
    ("long long", Some(Scalar::LongLong)),
    ("unsigned long long", Some(Scalar::UnsignedLongLong)),
    ("float", Some(Scalar::Float)),
    ("double", Some(Scalar::Double)),
];

/// The word for a C type.
pub(in crate::opendyn) fn c_word(scalar: Option<Scalar>) -> &'static str {
    C_TYPES.iter().find(|(_, known)| *known == scalar).map_or("void", |(word, _)| word)
}
