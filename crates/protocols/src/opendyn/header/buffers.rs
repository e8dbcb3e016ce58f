//! Pointers to many elements: what is read, what is written, and how much room there is.

use serde_json::{Value, json};

use super::c_type::CType;
use super::classify::Function;
use super::forms::{array, bytes, input, null, output, text, texts};
use super::guess::{Confidence, Proposal, ask, guess};
use super::pairing::{LengthBy, Pair};
use super::structures::structure_schema;
use super::words::{is_capacity, is_destination, is_source, words};

/// Room for bytes and for text when the caller does not say how much.
const BYTES_ROOM: u64 = 65_536;
const TEXT_ROOM: u64 = 4_096;

/// Verbs of functions whose buffers hold bytes rather than text; the first ten return how many.
const BYTE_VERBS: [&str; 14] = [
    "compress",
    "decompress",
    "uncompress",
    "deflate",
    "inflate",
    "encode",
    "decode",
    "read",
    "recv",
    "write",
    "encrypt",
    "decrypt",
    "hash",
    "digest",
];
/// How many of them return a length.
const LENGTH_VERBS: usize = 10;

/// A buffer whose length is another parameter.
pub(super) struct Paired<'a> {
    pub(super) index: usize,
    pub(super) pair: &'a Pair,
    /// Behind the pointer.
    pub(super) element: &'a CType,
    pub(super) constant: bool,
}

impl Function<'_> {
    /// Whether the values of a buffer are read by the function and not written.
    fn is_input(&self, paired: &Paired<'_>) -> bool {
        let name = &self.names[paired.index];
        match self.direction(name) {
            Some("in") => true,
            Some(_) => false,
            None if self.orders() || self.makes_from() => true,
            None => {
                let by_name = is_source(name) && !is_destination(name);
                paired.constant
                    || self.names_texts(paired.index)
                    || (by_name && paired.pair.by == LengthBy::Value)
            }
        }
    }

    /// A buffer with a length of its own.
    pub(super) fn paired_buffer(&self, paired: &Paired<'_>) -> Value {
        let length = &self.names[paired.pair.length];
        let name = &self.names[paired.index];
        if self.names_texts(paired.index) {
            let mut parameter = input(name, texts());
            guess(&mut parameter, paired.pair.confidence, format!("`{name}` is taken for `{length}` texts"));
            return parameter;
        }
        let reason = format!("`{length}` is taken for the length of `{name}`");
        if self.is_input(paired) {
            let mut parameter = input(name, self.content(paired.element, Use::Read));
            guess(&mut parameter, paired.pair.confidence, reason);
            if self.orders() && !paired.constant {
                parameter["isOut"] = true.into();
                guess(&mut parameter, Confidence::Medium, format!("`{name}` is ordered in its place"));
            }
            self.add_keeper(paired.index, &mut parameter);
            return parameter;
        }
        let mut parameter = output(name, self.content(paired.element, Use::Written));
        parameter["schema"]["cType"]["size"] = length.as_str().into();
        match paired.pair.by {
            LengthBy::Pointer => parameter["schema"]["cType"]["lengthFrom"] = length.as_str().into(),
            LengthBy::Value if self.written_by(name).is_some() => {
                parameter["schema"]["cType"]["lengthFrom"] = self.written_by(name).into();
            }
            LengthBy::Value if self.returns_length() && !self.is_text(paired.element) => {
                parameter["schema"]["cType"]["lengthFrom"] = "return".into();
            }
            // Without a length that is returned, all of it counts, and a NUL does not end it.
            LengthBy::Value if matches!(paired.element, CType::Void | CType::Scalar("unsigned char")) => {
                parameter["schema"]["cType"]["lengthFrom"] = "all".into();
            }
            LengthBy::Value => {}
        }
        guess(&mut parameter, paired.pair.confidence.min(Confidence::Medium), reason);
        parameter
    }

    /// The parameter that holds the length of a buffer.
    pub(super) fn paired_length(&self, index: usize, paired: &Paired<'_>) -> Value {
        let (name, buffer) = (&self.names[index], &self.names[paired.index]);
        let by_pointer = paired.pair.by == LengthBy::Pointer;
        let word = self.pointed_number(index).unwrap_or("unsigned long");
        let mut schema = json!({ "type": "integer", "cType": { "type": word, "isPointer": by_pointer } });
        if self.is_input(paired) {
            schema["cType"]["lengthOf"] = buffer.as_str().into();
            return input(name, schema);
        }
        let is_bytes = matches!(paired.element, CType::Void | CType::Scalar("char" | "unsigned char"));
        let mut parameter = input(name, schema);
        if is_bytes || by_pointer {
            let room = if self.is_text(paired.element) { TEXT_ROOM } else { BYTES_ROOM };
            let named = self.size_by_constant(buffer).and_then(|(_, size)| u64::try_from(size).ok());
            parameter["schema"]["default"] = named.unwrap_or(room).min(most(word)).into();
            parameter["required"] = false.into();
        }
        if by_pointer {
            parameter["isOut"] = true.into();
        }
        if parameter.get("description").is_none() {
            parameter["description"] = format!("Room for `{buffer}`").into();
        }
        guess(&mut parameter, paired.pair.confidence, format!("callers say how much room `{buffer}` gets"));
        parameter
    }

    fn content(&self, element: &CType, used: Use) -> Value {
        match element {
            CType::Opaque(kind) => structure_schema(kind, "array", true),
            CType::Scalar("char") if used == Use::Written && self.is_text(element) => text(),
            CType::Void | CType::Scalar("char" | "unsigned char") => bytes(),
            other => array(self.facts.header.types.number(other).unwrap_or("unsigned char")),
        }
    }

    /// Letters that end with a NUL, as opposed to bytes.
    fn is_text(&self, element: &CType) -> bool {
        *element == CType::Scalar("char") && !self.moves_bytes()
    }

    fn moves_bytes(&self) -> bool {
        let has_verb = |word: &String| BYTE_VERBS.iter().any(|verb| word.ends_with(verb));
        words(&self.declaration.name).iter().any(has_verb)
    }

    /// Whether some output is as long as what is returned says.
    pub(super) fn gives_length(&self) -> bool {
        let paired =
            (0..self.names.len()).filter_map(|index| self.paired(index, self.pairs[index].as_ref()?));
        let mut written = paired.filter(|paired| paired.pair.by == LengthBy::Value && !self.is_input(paired));
        self.returns_length() && written.any(|paired| !self.is_text(paired.element))
    }

    /// `char *buf, size_t n`: a text is written as far as there is room.
    pub(super) fn writes_sized_text(&self) -> bool {
        let mut paired =
            (0..self.names.len()).filter_map(|index| self.paired(index, self.pairs[index].as_ref()?));
        paired.any(|paired| {
            let is_sized = paired.pair.by == LengthBy::Value && !self.is_input(&paired);
            is_sized && self.is_text(paired.element)
        })
    }

    /// Whether the number that is returned is how much was written.
    fn returns_length(&self) -> bool {
        let is_number = self.facts.header.types.number(&self.declaration.returns).is_some();
        let is_size = matches!(self.declaration.returns, CType::Scalar("unsigned long" | "long"));
        let documented = self.declaration.documentation.returns.as_deref().unwrap_or_default().to_lowercase();
        let says = ["number of bytes", "bytes written", "length", "number of elements"]
            .iter()
            .any(|text| documented.contains(text));
        let has_verb = |word: &String| BYTE_VERBS[..LENGTH_VERBS].iter().any(|verb| word.ends_with(verb));
        let moves = words(&self.declaration.name).iter().any(has_verb);
        is_number && (is_size || moves || says) && !self.is_status()
    }

    /// `char *` without a length.
    pub(super) fn lone_text(&self, index: usize) -> Value {
        let name = &self.names[index];
        let written = matches!(self.direction(name), Some("out")) || is_destination(name);
        if written && !is_capacity(name) {
            let mut parameter = output(name, text());
            parameter["schema"]["cType"]["size"] = TEXT_ROOM.into();
            let reason = format!("`{name}` is taken for an output of at most {TEXT_ROOM} bytes");
            guess(&mut parameter, Confidence::Low, reason);
            return parameter;
        }
        let mut parameter = input(name, text());
        let question = format!("`{name}` may be an output: how large, or is it changed?");
        ask(&mut parameter, question, text_proposals());
        parameter
    }

    /// `unsigned char *` without a length: the size may be a constant that is named after the function.
    pub(super) fn lone_bytes(&self, index: usize, constant: bool) -> Value {
        let name = &self.names[index];
        if let Some((constant_name, size)) = self.size_by_constant(name) {
            let mut parameter = if constant { input(name, bytes()) } else { output(name, bytes()) };
            parameter["schema"]["cType"]["size"] = size.into();
            parameter["schema"]["cType"]["encoding"] = "hex".into();
            guess(
                &mut parameter,
                Confidence::Medium,
                format!("`{name}` is taken to have `{constant_name}` bytes"),
            );
            return parameter;
        }
        if let Some((like, plus)) = self.size_like_input(name).filter(|_| !constant) {
            let mut parameter = output(name, bytes());
            parameter["schema"]["cType"]["size"] = json!({ "param": like, "plus": plus });
            parameter["schema"]["cType"]["lengthFrom"] = "all".into();
            guess(
                &mut parameter,
                Confidence::Low,
                format!("`{name}` is taken to have {plus:+} bytes in addition to those of `{like}`"),
            );
            return parameter;
        }
        if !constant && name == "resultbuf" {
            let mut parameter = input(name, null());
            guess(&mut parameter, Confidence::Medium, "without a buffer the library makes one");
            return parameter;
        }
        let is_text = words(&self.declaration.name).iter().any(|word| word.starts_with("str"));
        if constant && (is_source(name) || declares_text(name) || is_text) {
            return input(name, text());
        }
        let mut parameter = input(name, bytes());
        ask(&mut parameter, format!("`{name}` points to bytes: how many, and which way?"), byte_proposals());
        parameter
    }

    /// `crypto_hash_sha256_BYTES` for `out` of `crypto_hash_sha256`.
    fn size_by_constant(&self, name: &str) -> Option<(String, i64)> {
        let endings: &[&str] = match words(name).last()?.as_str() {
            "k" | "key" => &["KEYBYTES"],
            "n" | "nonce" | "npub" => &["NONCEBYTES", "NPUBBYTES"],
            "pk" => &["PUBLICKEYBYTES"],
            "sk" => &["SECRETKEYBYTES"],
            "seed" => &["SEEDBYTES"],
            "salt" => &["SALTBYTES"],
            "mac" => &["MACBYTES", "BYTES"],
            "sig" => &["BYTES"],
            "out" | "h" | "hash" | "md" | "digest" | "q" => &["BYTES", "OUTPUTBYTES"],
            _ => return None,
        };
        self.constant_of(endings)
    }

    /// A constant that begins with the name of the function or with the front part of it.
    fn constant_of(&self, endings: &[&str]) -> Option<(String, i64)> {
        let mut prefix = self.declaration.name.as_str();
        loop {
            for ending in endings {
                let name = format!("{prefix}_{ending}");
                if let Some(value) = self.facts.header.constants.value(&name) {
                    return i64::try_from(value).ok().filter(|value| *value > 0).map(|value| (name, value));
                }
            }
            prefix = prefix.rsplit_once('_')?.0;
        }
    }

    /// The ciphertext `c` of a message `m`, and the other way.
    fn size_like_input(&self, name: &str) -> Option<(String, i64)> {
        let other = match name {
            "c" => "m",
            "m" => "c",
            _ => return None,
        };
        let (_, extra) = self.constant_of(&["MACBYTES", "ABYTES", "SEALBYTES"])?;
        let has_other = self.names.iter().any(|known| known == other);
        has_other.then(|| (other.to_owned(), if name == "c" { extra } else { -extra }))
    }
}

/// The largest number of a type that holds a length.
fn most(word: &str) -> u64 {
    if word.contains("short") { 32_767 } else { u64::MAX }
}

/// Whether a name is that of a text.
fn declares_text(name: &str) -> bool {
    ["text", "str", "string", "name", "path", "utf8"]
        .iter()
        .any(|word| words(name).iter().any(|own| own == word))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Written,
}

pub(super) fn text_proposals() -> Vec<Proposal> {
    vec![
        Proposal {
            means: "it is written by the function: room for 4096 bytes",
            answer: json!({ "isIn": false, "schema": { "cType": { "size": TEXT_ROOM } } }),
        },
        Proposal { means: "it is only read", answer: json!({}) },
        Proposal { means: "it is read and changed in its place", answer: json!({ "isOut": true }) },
    ]
}

pub(super) fn byte_proposals() -> Vec<Proposal> {
    vec![
        Proposal {
            means: "it is written by the function: room for 65536 bytes",
            answer: json!({ "isIn": false, "schema": { "cType": { "size": BYTES_ROOM } } }),
        },
        Proposal { means: "it is read", answer: json!({}) },
        Proposal {
            means: "it is a text that ends with a NUL",
            answer: json!({ "schema": { "cType": { "type": "char" } } }),
        },
        Proposal { means: "it is always NULL", answer: json!({ "schema": { "const": null } }) },
    ]
}
