//! The values inside CALL and RESULT. Scalars and handles are 8 bytes, buffers a `u32` count and their
//! bytes, all little endian. Neither half knows the plan: who reads must ask for what the plan says.

use thiserror::Error;

/// The byte count that stands for a NULL pointer.
const NULL: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ValueError {
    #[error("the payload ends inside a value")]
    Cut,
    #[error("{0} bytes follow the last value")]
    Rest(usize),
    #[error("a buffer of {0} bytes is too large for a frame")]
    TooLarge(usize),
}

/// Takes values off a payload, front to back.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub const fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    /// A scalar or a handle.
    pub fn word(&mut self) -> Result<u64, ValueError> {
        self.array().map(u64::from_le_bytes)
    }

    /// The bytes of a buffer; nothing for a NULL pointer.
    pub fn bytes(&mut self) -> Result<Option<&'a [u8]>, ValueError> {
        let count = self.array().map(u32::from_le_bytes)?;
        if count == NULL {
            return Ok(None);
        }
        let (bytes, rest) = self.rest.split_at_checked(count as usize).ok_or(ValueError::Cut)?;
        self.rest = rest;
        Ok(Some(bytes))
    }

    pub fn errno(&mut self) -> Result<i32, ValueError> {
        self.array().map(i32::from_le_bytes)
    }

    /// Fails if anything is left.
    pub const fn end(self) -> Result<(), ValueError> {
        if self.rest.is_empty() { Ok(()) } else { Err(ValueError::Rest(self.rest.len())) }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ValueError> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(ValueError::Cut)?;
        self.rest = rest;
        Ok(*array)
    }
}

/// Appends a scalar or a handle.
pub fn put_word(out: &mut Vec<u8>, word: u64) {
    out.extend_from_slice(&word.to_le_bytes());
}

/// Appends a buffer, or a NULL pointer.
pub fn put_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) -> Result<(), ValueError> {
    let Some(bytes) = bytes else {
        out.extend_from_slice(&NULL.to_le_bytes());
        return Ok(());
    };
    let count = u32::try_from(bytes.len())
        .ok()
        .filter(|&count| count != NULL)
        .ok_or(ValueError::TooLarge(bytes.len()))?;
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

pub fn put_errno(out: &mut Vec<u8>, errno: i32) {
    out.extend_from_slice(&errno.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_are_read_as_they_were_put(
            word: u64,
            bytes: Option<Vec<u8>>,
            errno: i32,
        ) {
            let mut out = Vec::new();
            put_word(&mut out, word);
            put_bytes(&mut out, bytes.as_deref()).unwrap();
            put_errno(&mut out, errno);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.word(), Ok(word));
            prop_assert_eq!(reader.bytes(), Ok(bytes.as_deref()));
            prop_assert_eq!(reader.errno(), Ok(errno));
            prop_assert_eq!(reader.end(), Ok(()));
        }

        #[test]
        fn any_bytes_are_read_without_panic(payload: Vec<u8>, asks: Vec<u8>) {
            let mut reader = Reader::new(&payload);
            for ask in asks {
                let _ = match ask % 3 {
                    0 => reader.word().map(|_| ()),
                    1 => reader.bytes().map(|_| ()),
                    _ => reader.errno().map(|_| ()),
                };
            }
            let _ = reader.end();
        }
    }

    #[test]
    fn a_count_beyond_the_payload_is_cut() {
        assert_eq!(Reader::new(&[9, 0, 0, 0, 1]).bytes(), Err(ValueError::Cut));
        assert_eq!(Reader::new(&[1]).end(), Err(ValueError::Rest(1)));
    }
}
