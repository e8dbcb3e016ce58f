//! C types as far as a call is concerned: typedefs are looked through.

use std::collections::HashMap;

/// A type behind all its typedefs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CType {
    Void,
    /// A word of OpenDyn.
    Scalar(&'static str),
    /// An enumeration, by the name that people know it by.
    Enum(String),
    Pointer {
        to: Box<CType>,
        constant: bool,
    },
    /// A structure or union, by the name that people know it by.
    Opaque(String),
    /// A function, with what it takes and returns.
    Function(Box<Signature>),
    /// Elements in a row, and how many where that is fixed.
    Array(Box<CType>, Option<u64>),
    /// What cannot be passed, in words.
    Other(String),
}

/// What a function that is passed takes and returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) returns: CType,
    pub(super) parameters: Vec<Declared>,
}

/// A name, where there is one, and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) name: Option<String>,
    pub(super) c: CType,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) c: CType,
    /// How many bits of its type, where it does not have all of them.
    pub(super) bits: Option<u64>,
    pub(super) description: Option<String>,
}

/// What a structure or a union is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) all: Vec<Field>,
    pub(super) is_union: bool,
    /// Whether some of it could not be read.
    pub(super) is_partial: bool,
}

/// Names for types, as the header and what it includes give them.
#[derive(Debug, Default)]
pub(super) struct Types {
    typedefs: HashMap<String, CType>,
    /// From the tag of a structure or enumeration to the name of its typedef.
    aliases: HashMap<String, String>,
    structures: HashMap<String, Fields>,
    enumerations: HashMap<String, Vec<(String, i128)>>,
}

/// Types of the C library that a grammar takes for words of the language.
const STANDARD: [(&str, &str); 16] = [
    ("size_t", "unsigned long"),
    ("ssize_t", "long"),
    ("ptrdiff_t", "long"),
    ("intptr_t", "long"),
    ("uintptr_t", "unsigned long"),
    ("int8_t", "signed char"),
    ("uint8_t", "unsigned char"),
    ("int16_t", "short"),
    ("uint16_t", "unsigned short"),
    ("int32_t", "int"),
    ("uint32_t", "unsigned int"),
    ("int64_t", "long"),
    ("uint64_t", "unsigned long"),
    ("charptr_t", "char"),
    ("bool", "_Bool"),
    ("wchar_t", "int"),
];

impl Types {
    /// The type of a list of specifiers such as `const unsigned long int`.
    pub(super) fn base(&self, specifiers: &str) -> CType {
        let mut words: Vec<&str> = specifiers
            .split_whitespace()
            .filter(|word| {
                !matches!(
                    *word,
                    "const" | "volatile" | "extern" | "static" | "inline" | "register" | "typedef"
                )
            })
            .collect();
        if let [name] = words[..] {
            if let Some(known) = self.typedefs.get(name) {
                return known.clone();
            }
            if let Some((_, standard)) = STANDARD.iter().find(|(known, _)| *known == name) {
                words = standard.split(' ').collect();
            }
        }
        match words[..] {
            ["void"] => CType::Void,
            ["struct" | "union", name, ..] => self.tagged(name.trim_end_matches('{')),
            ["enum", ..] => CType::Scalar("int"),
            _ => scalar(&words),
        }
    }

    /// A structure by its tag.
    pub(super) fn tagged(&self, tag: &str) -> CType {
        CType::Opaque(self.known_as(tag))
    }

    /// The name of a typedef for a tag, or the tag.
    pub(super) fn known_as(&self, tag: &str) -> String {
        self.aliases.get(tag).cloned().unwrap_or_else(|| tag.to_owned())
    }

    /// Notes a typedef. A structure is known by the first name that it gets.
    pub(super) fn define(&mut self, name: &str, c: CType) {
        let c = match c {
            // `typedef void CURL`: a structure that only the library knows.
            CType::Void if !is_plain_pointer(name) => CType::Opaque(name.to_owned()),
            CType::Pointer { to, constant } if *to == CType::Void && !is_plain_pointer(name) => {
                CType::Pointer { to: Box::new(CType::Opaque(name.to_owned())), constant }
            }
            // `xmlChar`: letters of a text, whatever their sign.
            CType::Scalar("unsigned char")
                if name.to_lowercase().contains("char") && !name.starts_with('u') =>
            {
                CType::Scalar("char")
            }
            // Letters of four bytes are not numbers that anybody could give.
            CType::Scalar(_) if name == "wchar_t" => CType::Other("the type `wchar_t`".to_owned()),
            CType::Opaque(tag) => CType::Opaque(self.rename(tag, name)),
            CType::Enum(tag) => CType::Enum(self.rename(tag, name)),
            other => other,
        };
        let c = self.known(c);
        self.typedefs.insert(name.to_owned(), c);
    }

    /// The same with the names that structures got meanwhile: `typedef struct {…} image, *image_pointer`.
    fn known(&self, c: CType) -> CType {
        match c {
            CType::Pointer { to, constant } => CType::Pointer { to: Box::new(self.known(*to)), constant },
            CType::Opaque(tag) => CType::Opaque(self.known_as(&tag)),
            CType::Enum(tag) => CType::Enum(self.known_as(&tag)),
            other => other,
        }
    }

    fn rename(&mut self, tag: String, name: &str) -> String {
        if self.aliases.values().any(|alias| *alias == tag) || self.aliases.contains_key(&tag) {
            return self.known_as(&tag);
        }
        if let Some(fields) = self.structures.remove(&tag) {
            self.structures.insert(name.to_owned(), fields);
        }
        if let Some(values) = self.enumerations.remove(&tag) {
            self.enumerations.insert(name.to_owned(), values);
        }
        self.aliases.insert(tag, name.to_owned());
        name.to_owned()
    }

    pub(super) fn add_structure(&mut self, tag: &str, fields: Fields) {
        self.structures.insert(self.known_as(tag), fields);
    }

    pub(super) fn structure(&self, name: &str) -> Option<&Fields> {
        self.structures.get(name)
    }

    pub(super) fn add_enumeration(&mut self, tag: &str, values: Vec<(String, i128)>) {
        self.enumerations.insert(self.known_as(tag), values);
    }

    pub(super) fn enumeration(&self, name: &str) -> Option<&[(String, i128)]> {
        self.enumerations.get(name).map(Vec::as_slice)
    }

    /// How a structure is written in C.
    pub(super) fn c_name(&self, kind: &str) -> String {
        if self.typedefs.contains_key(kind) {
            return kind.to_owned();
        }
        let is_union = self.structure(kind).is_some_and(|fields| fields.is_union);
        format!("{} {kind}", if is_union { "union" } else { "struct" })
    }

    /// The word of OpenDyn for a number, an enumeration included.
    pub(super) fn number(&self, c: &CType) -> Option<&'static str> {
        match c {
            CType::Scalar(word) => Some(word),
            CType::Enum(name) => {
                let values = self.enumeration(name).unwrap_or_default();
                let unsigned = values.iter().any(|(_, value)| *value > i128::from(i32::MAX));
                Some(if unsigned { "unsigned int" } else { "int" })
            }
            CType::Void
            | CType::Pointer { .. }
            | CType::Opaque(_)
            | CType::Function(_)
            | CType::Array(..)
            | CType::Other(_) => None,
        }
    }
}

/// Names for pointers to anything.
fn is_plain_pointer(name: &str) -> bool {
    let lower = name.to_lowercase();
    ["void", "ptr", "pointer", "data", "addr", "buf"].iter().any(|part| lower.contains(part))
}

fn scalar(words: &[&str]) -> CType {
    let count = |wanted: &str| words.iter().filter(|word| **word == wanted).count();
    let known = |word: &&str| {
        matches!(
            *word,
            "unsigned" | "signed" | "long" | "short" | "int" | "char" | "float" | "double" | "_Bool"
        )
    };
    let unsigned = count("unsigned") > 0;
    let pick = |plain, other| CType::Scalar(if unsigned { other } else { plain });
    if words.is_empty() || !words.iter().all(known) {
        return CType::Other(format!("the type `{}`", words.join(" ")));
    }
    if count("double") + count("float") > 0 {
        return match (count("double"), count("long")) {
            (0, _) => CType::Scalar("float"),
            (_, 0) => CType::Scalar("double"),
            _ => CType::Other("`long double`".to_owned()),
        };
    }
    match (count("_Bool"), count("char"), count("short"), count("long")) {
        (1, ..) => CType::Scalar("bool"),
        (_, 1, ..) => pick("char", "unsigned char"),
        (_, _, 1, _) => pick("short", "unsigned short"),
        (_, _, _, 0) => pick("int", "unsigned int"),
        (_, _, _, 1) => pick("long", "unsigned long"),
        _ => pick("long long", "unsigned long long"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(specifiers: &str, expect: &CType) {
        assert_eq!(&Types::default().base(specifiers), expect);
    }

    #[test]
    fn words_may_come_in_any_order() {
        check("unsigned long int", &CType::Scalar("unsigned long"));
        check("long unsigned", &CType::Scalar("unsigned long"));
        check("const long long", &CType::Scalar("long long"));
        check("size_t", &CType::Scalar("unsigned long"));
        check("long double", &CType::Other("`long double`".into()));
        check("struct z_stream_s", &CType::Opaque("z_stream_s".into()));
        check("va_list", &CType::Other("the type `va_list`".into()));
    }

    #[test]
    fn a_structure_is_known_by_its_first_typedef() {
        let mut types = Types::default();
        types.add_structure("z_stream_s", Fields::default());
        types.define("z_stream", CType::Opaque("z_stream_s".into()));
        types.define("other", types.tagged("z_stream_s"));
        assert_eq!(types.base("struct z_stream_s"), CType::Opaque("z_stream".into()));
        assert_eq!(types.base("other"), CType::Opaque("z_stream".into()));
        assert!(types.structure("z_stream").is_some());
        types.define("CURL", CType::Void);
        assert_eq!(types.base("CURL"), CType::Opaque("CURL".into()));
    }
}
