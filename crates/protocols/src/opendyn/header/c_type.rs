//! C types as far as a call is concerned: typedefs are looked through.

use std::collections::HashMap;

/// A type behind all its typedefs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CType {
    Void,
    /// A word of OpenDyn.
    Scalar(&'static str),
    Pointer {
        to: Box<CType>,
        constant: bool,
    },
    /// A structure or union, by the name that people know it by.
    Opaque(String),
    Function,
    Array(Box<CType>),
    /// What cannot be passed, in words.
    Other(String),
}

/// Names for types, as the header and what it includes give them.
#[derive(Default)]
pub(super) struct Typedefs(pub(super) HashMap<String, CType>);

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

impl Typedefs {
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
            if let Some(known) = self.0.get(name) {
                return known.clone();
            }
            if let Some((_, standard)) = STANDARD.iter().find(|(known, _)| *known == name) {
                words = standard.split(' ').collect();
            }
        }
        match words[..] {
            ["void"] => CType::Void,
            ["struct" | "union", name, ..] => CType::Opaque(name.trim_end_matches('{').to_owned()),
            ["enum", ..] => CType::Scalar("unsigned int"),
            _ => scalar(&words),
        }
    }
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
        assert_eq!(&Typedefs::default().base(specifiers), expect);
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
}
