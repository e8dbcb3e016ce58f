//! Reads the index of the system's loader (`/etc/ld.so.cache`, format 1.1), so that a bare file name
//! means the same file to us as to `dlopen`, and can be looked into before it is loaded.

use std::path::PathBuf;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const COUNT: usize = 20;
const HEADER: usize = 48;
const ENTRY: usize = 24;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

/// The entries that any CPU of the architecture may use. Bytes that are not an index have none.
pub(super) fn parse(bytes: &[u8]) -> Vec<Entry> {
    if !bytes.starts_with(MAGIC) {
        return Vec::new();
    }
    let count = word(bytes, COUNT).unwrap_or(0) as usize;
    let table = bytes.get(HEADER..).unwrap_or_default();
    table.chunks_exact(ENTRY).take(count).filter_map(|entry| read(bytes, entry)).collect()
}

fn read(bytes: &[u8], entry: &[u8]) -> Option<Entry> {
    // flags, key, value, osversion, hwcap (8 bytes: set for files that need a newer CPU).
    let needs_nothing = entry[16..].iter().all(|byte| *byte == 0);
    let name = text(bytes, word(entry, 4)?)?;
    let path = text(bytes, word(entry, 8)?)?;
    needs_nothing.then(|| Entry { name: name.to_owned(), path: PathBuf::from(path) })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

fn text(bytes: &[u8], at: u32) -> Option<&str> {
    let rest = bytes.get(at as usize..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    str::from_utf8(&rest[..end]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cache(hwcap: u8) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(1_u32.to_le_bytes());
        bytes.resize(HEADER, 0);
        let strings = (HEADER + ENTRY) as u32;
        for word in [0x0303, strings, strings + 7, 0, u32::from(hwcap), 0] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(b"liba.so\0/lib/liba.so\0");
        bytes[HEADER + 8] += 1;
        bytes
    }

    #[test]
    fn a_name_leads_to_its_file() {
        let entry = Entry { name: "liba.so".to_owned(), path: PathBuf::from("/lib/liba.so") };
        assert_eq!(parse(&cache(0)), [entry]);
    }

    #[test]
    fn files_for_newer_processors_are_left_out() {
        assert_eq!(parse(&cache(2)), []);
    }

    proptest! {
        #[test]
        fn damaged_indexes_are_read_without_panic(at in 0..200usize, byte: u8, end in 0..200usize) {
            let mut bytes = cache(0);
            if let Some(hit) = bytes.get_mut(at) {
                *hit = byte;
            }
            bytes.truncate(end);
            parse(&bytes);
        }
    }
}
