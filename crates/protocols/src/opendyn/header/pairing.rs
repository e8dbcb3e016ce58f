//! Which number is the length of which pointer: by their names, by standing side by side, by being the only ones.

use super::c_type::{CType, Declared, Types};
use super::guess::Confidence;
use super::parameter::is_callback;
use super::words::{is_length, is_plural, is_texts, is_user_data, words};

/// The length of a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// The parameter that holds it.
    pub(super) length: usize,
    pub(super) by: LengthBy,
    pub(super) confidence: Confidence,
    pub(super) reason: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LengthBy {
    Value,
    Pointer,
}

/// For each parameter its length, if it has one.
pub(super) fn pairs(
    parameters: &[Declared],
    types: &Types,
    is_value: &dyn Fn(&str) -> bool,
) -> Vec<Option<Pair>> {
    let mut pairing = Pairing {
        buffers: parameters
            .iter()
            .enumerate()
            .map(|(at, one)| {
                let is_given_back = is_handed_back(parameters, at);
                buffer(&one.c).filter(|_| !is_given_back).or_else(|| values(one, is_value))
            })
            .collect(),
        lengths: parameters.iter().map(|one| length(one, types)).collect(),
        parameters,
        found: vec![None; parameters.len()],
    };
    pairing.by_name();
    pairing.side_by_side();
    pairing.count_first();
    pairing.only_ones();
    pairing.found
}

/// A pointer that may lead to many elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BufferKind {
    /// `const char *`: usually ends with a NUL.
    Text,
    Bytes,
    Numbers,
}

fn buffer(c: &CType) -> Option<BufferKind> {
    let CType::Pointer { to, constant } = c else { return None };
    match &**to {
        CType::Scalar("char") if *constant => Some(BufferKind::Text),
        CType::Void | CType::Scalar("char" | "unsigned char") => Some(BufferKind::Bytes),
        CType::Scalar(_) => Some(BufferKind::Numbers),
        CType::Array(element, None) => buffer(&CType::Pointer { to: element.clone(), constant: *constant }),
        CType::Pointer { to, .. } if matches!(**to, CType::Scalar("unsigned char") | CType::Void) => {
            Some(BufferKind::Bytes)
        }
        _ => None,
    }
}

/// `void *user` behind a callback.
fn is_handed_back(parameters: &[Declared], at: usize) -> bool {
    let one = &parameters[at];
    let is_anything = matches!(&one.c, CType::Pointer { to, .. } if **to == CType::Void);
    let behind = at.checked_sub(1).is_some_and(|before| is_callback(&parameters[before].c));
    is_anything && (behind || one.name.as_deref().is_some_and(is_user_data))
}

/// Structures in a row, and lists of texts: only what is named as many.
fn values(one: &Declared, is_value: &dyn Fn(&str) -> bool) -> Option<BufferKind> {
    let CType::Pointer { to, .. } = &one.c else { return None };
    let is_many = match &**to {
        CType::Opaque(kind) => is_value(kind),
        CType::Pointer { to, .. } => **to == CType::Scalar("char"),
        _ => false,
    };
    let is_named = one.name.as_deref().is_some_and(|name| is_plural(name) || is_texts(name));
    (is_many && is_named).then_some(BufferKind::Numbers)
}

fn length(one: &Declared, types: &Types) -> Option<LengthBy> {
    let is_count = |c: &CType| {
        let word = types.number(c).filter(|_| matches!(c, CType::Scalar(_)));
        word.is_some_and(|word| word.contains("int") || word.contains("long") || word == "unsigned short")
    };
    let named = one.name.as_deref().is_some_and(is_length);
    let counts = one.name.as_deref().is_some_and(|name| matches!(name, "items" | "frames" | "elements"));
    match &one.c {
        c if is_count(c) && (named || counts) => Some(LengthBy::Value),
        CType::Pointer { to, constant: false } if is_count(to) && named => Some(LengthBy::Pointer),
        _ => None,
    }
}

struct Pairing<'a> {
    parameters: &'a [Declared],
    buffers: Vec<Option<BufferKind>>,
    lengths: Vec<Option<LengthBy>>,
    found: Vec<Option<Pair>>,
}

impl Pairing<'_> {
    fn is_free_buffer(&self, index: usize) -> bool {
        // What holds a length is not a buffer too.
        self.buffers[index].is_some()
            && self.found[index].is_none()
            && self.lengths[index].is_none()
            && !self.is_taken(index)
    }

    fn is_taken(&self, length: usize) -> bool {
        self.found.iter().flatten().any(|pair| pair.length == length)
    }

    fn is_free_length(&self, index: usize) -> bool {
        self.lengths.get(index).is_some_and(Option::is_some) && !self.is_taken(index)
    }

    fn join(&mut self, buffer: usize, length: usize, confidence: Confidence, reason: &'static str) {
        let by = self.lengths[length].unwrap_or(LengthBy::Value);
        // A function does not say by a pointer how much it was given to read.
        let is_read_only = matches!(self.parameters[buffer].c, CType::Pointer { constant: true, .. });
        if is_read_only && by == LengthBy::Pointer {
            return;
        }
        self.found[buffer] = Some(Pair { length, by, confidence, reason });
    }

    /// `dst` and `dstCapacity`, `zData` and `nData`.
    fn by_name(&mut self) {
        for length in 0..self.parameters.len() {
            if !self.is_free_length(length) {
                continue;
            }
            let stem = stem(self.name(length));
            let fits = |index: &usize| self.is_free_buffer(*index) && is_same(&stem, self.name(*index));
            if let Some(buffer) = (0..self.parameters.len()).find(fits) {
                self.join(buffer, length, Confidence::High, "their names");
            }
        }
    }

    fn side_by_side(&mut self) {
        for buffer in 0..self.parameters.len() {
            let next = buffer + 1;
            if !self.is_free_buffer(buffer) {
                continue;
            }
            // `memcpy(void *, const void *, size_t)`: nobody knows whose length it is.
            let is_rival = |other: &usize| {
                self.is_free_buffer(*other) && self.buffers[*other] != Some(BufferKind::Numbers)
            };
            let is_many = self.buffers[buffer] == Some(BufferKind::Numbers);
            let rivals = (0..=buffer).filter(is_rival).count() + usize::from(is_many);
            // `const char *version, int stream_size` is not a text and its length.
            let is_other = self.buffers[buffer] == Some(BufferKind::Text)
                && self.is_free_length(next)
                && !stem(self.name(next)).is_empty();
            if self.is_free_length(next) && !is_other && (rivals == 1 || !self.is_last(next)) {
                self.join(buffer, next, Confidence::Medium, "standing side by side");
            } else if rivals == 1 && self.is_unnamed_count(buffer, next) {
                self.join(buffer, next, Confidence::Low, "standing side by side");
            }
        }
    }

    fn is_last(&self, index: usize) -> bool {
        !self.lengths.iter().enumerate().any(|(other, length)| other > index && length.is_some())
    }

    /// `const void *, int` without names.
    fn is_unnamed_count(&mut self, buffer: usize, next: usize) -> bool {
        let kind = self.buffers[buffer];
        let is_bytes = kind == Some(BufferKind::Bytes);
        let is_anything =
            matches!(&self.parameters[buffer].c, CType::Pointer { to, .. } if **to == CType::Void);
        let is_count = self.parameters.get(next).is_some_and(|next| {
            let is_size = next.c == CType::Scalar("unsigned long");
            let is_number = matches!(next.c, CType::Scalar("int" | "unsigned int" | "long"));
            next.name.is_none() && (is_size || (is_number && is_anything))
        });
        let is_pair = is_count && (is_bytes || kind == Some(BufferKind::Text));
        if is_pair {
            self.lengths[next] = Some(LengthBy::Value);
        }
        is_pair
    }

    /// `int n, const double *x`
    fn count_first(&mut self) {
        for buffer in 1..self.parameters.len() {
            let is_many = matches!(self.buffers[buffer], Some(BufferKind::Numbers | BufferKind::Bytes));
            if is_many && self.is_free_buffer(buffer) && self.is_free_length(buffer - 1) {
                self.join(buffer, buffer - 1, Confidence::Medium, "the count in front");
            }
        }
    }

    /// One pointer and one length are left.
    fn only_ones(&mut self) {
        let all = 0..self.parameters.len();
        let is_left =
            |index: &usize| self.is_free_buffer(*index) && self.buffers[*index] != Some(BufferKind::Text);
        let mut buffers: Vec<usize> = all.clone().filter(is_left).collect();
        let lengths: Vec<usize> = all.clone().filter(|index| self.is_free_length(*index)).collect();
        if buffers.is_empty() && self.found.iter().any(Option::is_some) {
            buffers = all.filter(|index| self.is_free_buffer(*index)).collect();
        }
        if let (&[buffer], &[length]) = (&buffers[..], &lengths[..]) {
            self.join(buffer, length, Confidence::Low, "being the only ones left");
        }
    }

    fn name(&self, index: usize) -> &str {
        self.parameters[index].name.as_deref().unwrap_or_default()
    }
}

/// `src` of `srcSize`, `data` of `nData`.
fn stem(length: &str) -> String {
    const LENGTH_WORDS: [&str; 17] = [
        "len", "length", "size", "count", "bytes", "byte", "nbyte", "nbytes", "capacity", "cap", "sz", "num",
        "n", "max", "maxlen", "of", "avail",
    ];
    let words = words(length);
    let kept: Vec<&str> =
        words.iter().map(String::as_str).filter(|word| !LENGTH_WORDS.contains(word)).collect();
    let joined = kept.concat();
    let endings = ["len", "size", "length", "bytes"];
    endings.iter().find_map(|ending| joined.strip_suffix(ending)).unwrap_or(&joined).to_owned()
}

fn is_same(stem: &str, buffer: &str) -> bool {
    let joined = words(buffer).concat();
    let bare = joined.strip_prefix(['p', 'z']).unwrap_or(&joined);
    let is_near = |name: &str| {
        name == stem
            || (stem.len() > 1 && name.starts_with(stem))
            || (name.len() > 1 && stem.starts_with(name))
    };
    !stem.is_empty() && !joined.is_empty() && (is_near(&joined) || is_near(bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(word: &'static str, constant: bool) -> CType {
        let to = if word == "void" { CType::Void } else { CType::Scalar(word) };
        CType::Pointer { to: Box::new(to), constant }
    }

    fn check(parameters: &[(&str, CType)], expect: &[(usize, usize)]) {
        let declared: Vec<Declared> = parameters
            .iter()
            .map(|(name, c)| Declared { name: (!name.is_empty()).then(|| (*name).to_owned()), c: c.clone() })
            .collect();
        let found = pairs(&declared, &Types::default(), &|_| false);
        let found: Vec<(usize, usize)> = found
            .iter()
            .enumerate()
            .filter_map(|(index, pair)| Some((index, pair.as_ref()?.length)))
            .collect();
        assert_eq!(found, expect, "{parameters:?}");
    }

    #[test]
    fn lengths_find_their_buffers() {
        let (int, size) = (CType::Scalar("int"), CType::Scalar("unsigned long"));
        let (input, output) = (pointer("char", true), pointer("char", false));
        let any = pointer("void", true);
        let numbers = pointer("double", true);
        let by_pointer = pointer("unsigned long", false);
        let dst = pointer("unsigned char", false);
        // LZ4_compress_default, LZ4_decompress_safe, ZSTD_compress, zlib's compress
        let lz4 = |third| {
            vec![
                ("src", input.clone()),
                ("dst", output.clone()),
                (third, int.clone()),
                ("dstCapacity", int.clone()),
            ]
        };
        check(&lz4("srcSize"), &[(0, 2), (1, 3)]);
        check(&lz4("compressedSize"), &[(0, 2), (1, 3)]);
        check(
            &[
                ("dst", dst.clone()),
                ("dstCapacity", size.clone()),
                ("src", any.clone()),
                ("srcSize", size.clone()),
            ],
            &[(0, 1), (2, 3)],
        );
        check(
            &[
                ("dest", dst.clone()),
                ("destLen", by_pointer),
                ("source", any.clone()),
                ("sourceLen", size.clone()),
            ],
            &[(0, 1), (2, 3)],
        );
        check(&[("buf", output.clone()), ("n", size.clone())], &[(0, 1)]);
        check(&[("n", size.clone()), ("x", numbers.clone())], &[(1, 0)]);
        check(&[("", any.clone()), ("", int.clone())], &[(0, 1)]);
        check(&[("s1", input.clone()), ("s2", input.clone()), ("n", size.clone())], &[]);
        check(&[("x", numbers), ("level", int.clone())], &[]);
        check(&[("buffer", input.clone()), ("size", int.clone()), ("URL", input.clone())], &[(0, 1)]);
        check(&[("version", input), ("stream_size", int.clone())], &[]);
        check(&[("", output), ("", int)], &[]);
    }
}
