//! Percent-encoding (RFC 3986), and what a path segment or a header can carry at all.

use std::borrow::Cow;

const HEX: &[u8; 16] = b"0123456789ABCDEF";
/// How often a path argument is decoded in search of what it may become on the way to its server.
const MOST_DECODINGS: usize = 8;

/// Which characters of a text stay as they are in an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
    Unreserved,
    /// The same without `.`, which separates the items.
    UnreservedButDot,
    /// Those too which mean nothing in a query.
    Reserved,
    /// The same without `,`, which separates the items.
    ReservedButComma,
    /// All: the text is for a header, where nothing is encoded.
    Nothing,
}

impl Escape {
    fn keeps(self, byte: u8) -> bool {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => true,
            b'.' => self != Escape::UnreservedButDot,
            // `&`, `=`, `+` and `#` have a meaning there; `[` and `]` may not stand there.
            b':' | b'/' | b'?' | b'@' | b'!' | b'$' | b'\'' | b'(' | b')' | b'*' | b';' => {
                matches!(self, Escape::Reserved | Escape::ReservedButComma)
            }
            b',' => self == Escape::Reserved,
            _ => false,
        }
    }

    /// Appends a text.
    pub(super) fn push(self, text: &str, out: &mut Vec<u8>) {
        if self == Escape::Nothing {
            return out.extend_from_slice(text.as_bytes());
        }
        for byte in text.bytes() {
            if self.keeps(byte) {
                out.push(byte);
            } else {
                out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
        }
    }
}

/// What is wrong with an argument, in words that follow its name.
pub(super) type Unsendable = Cow<'static, str>;

/// Refuses a text that could leave its path segment, however often servers on the way decode it.
pub(super) fn check_path(text: &str) -> Result<(), Unsendable> {
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err("must not have control characters: it is a part of the path of an address".into());
    }
    check_segments(text.as_bytes())
}

/// The same for a path, or a part of it.
pub(super) fn check_segments(path: &[u8]) -> Result<(), Unsendable> {
    if !path.iter().any(|byte| matches!(byte, b'.' | b'%')) {
        return Ok(());
    }
    let mut path = Cow::Borrowed(path);
    for _ in 0..MOST_DECODINGS {
        if leaves_segment(&path) {
            return Err("must not be or make the path segment `.` or `..`, encoded or not".into());
        }
        match decoded(&path) {
            Some(next) => path = Cow::Owned(next),
            None => return Ok(()),
        }
    }
    Err("must not be encoded again and again".into())
}

/// True for a path with a segment that makes clients or servers change the path. What follows a `;` in a segment is
/// dropped by some of them.
pub(super) fn leaves_segment(path: &[u8]) -> bool {
    path.split(|byte| matches!(byte, b'/' | b'\\')).any(|segment| {
        let bare = segment.split(|byte| *byte == b';').next().unwrap_or_default();
        matches!(bare, b"." | b"..") || bare.contains(&0)
    })
}

/// The bytes with one level of percent-encoding taken off; none if there is none.
pub(super) fn decoded(bytes: &[u8]) -> Option<Vec<u8>> {
    if !bytes.contains(&b'%') {
        return None;
    }
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or_default());
                at += 3;
            }
            (byte, _, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    (out.len() < bytes.len()).then_some(out)
}

/// Refuses a text that a header cannot carry, or that its reader would see another text in.
pub(super) fn check_header(text: &str) -> Result<(), Unsendable> {
    if !text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
        return Err(
            "must have ASCII characters only, and neither line breaks nor other control characters: it is sent in a header"
                .into(),
        );
    }
    if text.trim_matches([' ', '\t']).len() != text.len() {
        return Err("must not begin or end with white space: it is sent in a header".into());
    }
    Ok(())
}
