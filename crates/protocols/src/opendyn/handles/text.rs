//! Handles as callers see them: the kind of the object and 128 random bits, never an address or a number that could
//! be guessed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Said of every handle that its caller cannot use, whatever the reason. Had a handle of another caller an answer of
/// its own, that answer would tell that there is one.
pub(in crate::opendyn) const NOT_OPEN: &str =
    "is not open: it was closed or not used for long, the library was restarted, or it is not one of yours";

/// What a handle is known by outside of the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::opendyn) struct HandleId([u8; 16]);

impl HandleId {
    pub(super) fn random() -> Self {
        let mut bytes = [0; 16];
        aws_lc_rs::rand::fill(&mut bytes).expect("the system gives random bytes");
        HandleId(bytes)
    }

    /// The id in a text. What differs by the text alone is told; the rest is not open.
    pub(super) fn parse(tag: &str, text: &str) -> Result<Self, String> {
        let Some((own, id)) = text.split_once('#') else {
            return Err(format!(
                "must be a handle such as `{tag}#…`, as another tool of this library gave it"
            ));
        };
        if own != tag {
            return Err(format!("is a handle of `{own}`, but one of `{tag}` is needed"));
        }
        let mut bytes = [0; 16];
        match URL_SAFE_NO_PAD.decode_slice(id, &mut bytes) {
            Ok(16) => Ok(HandleId(bytes)),
            Ok(_) | Err(_) => Err(NOT_OPEN.to_owned()),
        }
    }

    pub(super) fn text(self, tag: &str) -> String {
        format!("{tag}#{}", URL_SAFE_NO_PAD.encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_read_as_it_was_written() {
        let id = HandleId::random();
        assert_eq!(HandleId::parse("db", &id.text("db")), Ok(id));
        assert_ne!(HandleId::random(), id);
    }

    #[track_caller]
    fn check(given: &str, words: &str) {
        let error = HandleId::parse("db", given).unwrap_err();
        assert!(error.contains(words), "{given}: {error}");
    }

    #[test]
    fn anything_else_is_no_handle() {
        let of_another_kind = HandleId::random().text("statement");
        check(&of_another_kind, "is a handle of `statement`");
        check("0x7ffe", "must be a handle");
        let too_long = format!("{}AAAA", HandleId::random().text("db"));
        for never_given in ["db#", "db#1.1", "db#AAAA", "db#ü", "db##", &too_long] {
            check(never_given, NOT_OPEN);
        }
    }
}
