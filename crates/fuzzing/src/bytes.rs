//! Mutations of bytes that know nothing of what the bytes mean.

use crate::random::Random;

/// Texts at which parsers change their mind.
const TOKENS: [&[u8]; 32] = [
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[[[[[[[[",
    b":",
    b",",
    b"null",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"\0",
    b"\xff",
    b"\xc3\x28",
    b"\xef\xbb\xbf",
    "é".as_bytes(),
    "\u{1f980}".as_bytes(),
    "\u{2028}".as_bytes(),
    b"=",
    b"/",
    b"//",
    b"/*",
    b"..",
    b"${",
    b"~1",
    b"#/",
    b"%",
    b"@",
];
/// Numbers at the ends of the ranges that programs use.
pub(crate) const NUMBERS: [&str; 20] = [
    "0",
    "-0",
    "-1",
    "1",
    "127",
    "128",
    "255",
    "256",
    "32768",
    "65535",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e309",
    "0.1",
];
/// The longest piece that one mutation copies or removes.
const MOST_MOVED: usize = 64;

/// One mutation; `other` is another example.
pub(crate) fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let end = (at + 1 + random.below(MOST_MOVED)).min(bytes.len());
    match random.below(10) {
        0 => flip(bytes, random),
        1 => set(bytes, random.next().to_le_bytes()[0], random),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end.max(at))),
        4 => {
            let piece = bytes[at..end.max(at)].to_vec();
            insert(bytes, random, &piece);
        }
        5 => {
            let tail = random.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[tail..]);
        }
        6 => grow_number(bytes, random),
        7 => {
            let from = random.below(other.len() + 1);
            let to = (from + random.below(MOST_MOVED)).min(other.len());
            insert(bytes, random, &other[from..to]);
        }
        _ => {
            let token = random.pick(&TOKENS).copied().unwrap_or_default();
            insert(bytes, random, token);
        }
    }
}

fn flip(bytes: &mut [u8], random: &mut Random) {
    let (place, bit) = (random.below(bytes.len()), random.below(8));
    if let Some(byte) = bytes.get_mut(place) {
        *byte ^= 1 << bit;
    }
}

fn set(bytes: &mut [u8], value: u8, random: &mut Random) {
    let place = random.below(bytes.len());
    if let Some(byte) = bytes.get_mut(place) {
        *byte = value;
    }
}

fn insert(bytes: &mut Vec<u8>, random: &mut Random, piece: &[u8]) {
    let at = random.below(bytes.len() + 1);
    bytes.splice(at..at, piece.iter().copied());
}

/// Another number in the place of one that is written in digits.
fn grow_number(bytes: &mut Vec<u8>, random: &mut Random) {
    let from = random.below(bytes.len());
    let Some(start) = bytes.iter().skip(from).position(u8::is_ascii_digit).map(|found| found + from) else {
        return;
    };
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = random.pick(&NUMBERS).copied().unwrap_or_default();
    bytes.splice(start..start + length, number.bytes());
}
