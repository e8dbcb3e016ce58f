//! Rows that a library hands to a callback of the common shape `int (*)(void *, int, char **, char **)`, values and
//! names, collected until the call returns.

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::slice;

use crate::value::{put_bytes, put_word};

thread_local! {
    /// What was collected during the call that runs in this thread, and how much may be. Libraries within one process
    /// are called by several threads at once.
    static COLLECTED: RefCell<Collected> = const { RefCell::new(Collected { bytes: Vec::new(), most: 0 }) };
}

struct Collected {
    /// For each row its number of columns, then name and value of each.
    bytes: Vec<u8>,
    most: usize,
}

/// The code of the callback, as an argument.
pub(super) fn address() -> u64 {
    collect as *const () as usize as u64
}

/// Forgets what an earlier call left behind.
pub(super) fn start(most: u64) {
    COLLECTED.with_borrow_mut(|collected| {
        collected.bytes.clear();
        collected.most = usize::try_from(most).unwrap_or(usize::MAX);
    });
}

/// The rows since then.
pub(super) fn take() -> Vec<u8> {
    COLLECTED.with_borrow_mut(|collected| std::mem::take(&mut collected.bytes))
}

/// Not 0 asks the library to stop: there is more than may be returned.
extern "C" fn collect(
    _: *mut c_void,
    count: c_int,
    values: *const *const c_char,
    names: *const *const c_char,
) -> c_int {
    let count = usize::try_from(count).unwrap_or(0);
    COLLECTED.with_borrow_mut(|collected| {
        let start = collected.bytes.len();
        put_word(&mut collected.bytes, count as u64);
        for index in 0..count {
            for list in [names, values] {
                // SAFETY: the library calls with as many names and values as it says; each is NULL or a C string.
                let text = unsafe { text_at(list, index) };
                let is_put = put_bytes(&mut collected.bytes, text).is_ok();
                if !is_put || collected.bytes.len() > collected.most {
                    collected.bytes.truncate(start);
                    return 1;
                }
            }
        }
        0
    })
}

/// The text at an index of a list.
///
/// # Safety
/// `list` is NULL or has a pointer at `index`, which is NULL or leads to a C string.
unsafe fn text_at<'a>(list: *const *const c_char, index: usize) -> Option<&'a [u8]> {
    if list.is_null() {
        return None;
    }
    // SAFETY: as above.
    unsafe {
        let text = *list.add(index);
        (!text.is_null()).then(|| slice::from_raw_parts(text.cast::<u8>(), libc::strlen(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Reader;

    #[test]
    fn rows_are_collected_until_there_are_too_many() {
        start(100);
        let (name, value) = (c"a", c"eins");
        let (names, values) = ([name.as_ptr(), name.as_ptr()], [value.as_ptr(), std::ptr::null()]);
        assert_eq!(collect(std::ptr::null_mut(), 2, values.as_ptr(), names.as_ptr()), 0);
        for _ in 0..2 {
            collect(std::ptr::null_mut(), 2, values.as_ptr(), names.as_ptr());
        }
        assert_eq!(collect(std::ptr::null_mut(), 2, values.as_ptr(), names.as_ptr()), 1);
        let bytes = take();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.word(), Ok(2));
        assert_eq!(reader.bytes(), Ok(Some(&b"a"[..])));
        assert_eq!(reader.bytes(), Ok(Some(&b"eins"[..])));
        assert_eq!(reader.bytes(), Ok(Some(&b"a"[..])));
        assert_eq!(reader.bytes(), Ok(None));
        assert!(bytes.len() <= 100 && take().is_empty());
    }
}
