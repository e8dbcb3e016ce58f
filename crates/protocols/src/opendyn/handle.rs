//! Objects of a library as callers see them: `tag#generation.id`, never an address.

/// The word on the wire: `generation << 32 | id`.
pub(super) fn parse(tag: &str, text: &str) -> Result<u64, String> {
    let wanted = || format!("must be a handle such as `{tag}#1.0`, as another tool of this library gave it");
    let (own, numbers) = text.split_once('#').ok_or_else(wanted)?;
    if own != tag {
        return Err(format!("is a handle of `{own}`, but one of `{tag}` is needed"));
    }
    let (generation, id) = numbers.split_once('.').ok_or_else(wanted)?;
    let number = |text: &str| text.parse::<u32>().ok().filter(|_| !text.starts_with('+'));
    match (number(generation), number(id)) {
        (Some(generation), Some(id)) if generation != 0 => Ok(u64::from(generation) << 32 | u64::from(id)),
        _ => Err(wanted()),
    }
}

/// What callers see.
pub(super) fn text(tag: &str, word: u64) -> String {
    format!("{tag}#{}.{}", word >> 32, word as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, expect: Result<u64, &str>) {
        let parsed = parse("db", given);
        match expect {
            Ok(word) => assert_eq!(parsed, Ok(word)),
            Err(words) => assert!(parsed.unwrap_err().contains(words)),
        }
    }

    #[test]
    fn a_handle_is_read_as_it_was_written() {
        check("db#1.7", Ok(1 << 32 | 7));
        check(&text("db", 4 << 32 | 2), Ok(4 << 32 | 2));
    }

    #[test]
    fn anything_else_is_no_handle() {
        check("statement#1.7", Err("is a handle of `statement`"));
        for bad in ["db", "db#", "db#1", "db#1.", "db#0.1", "db#+1.1", "db#1.2.3", "db#1.-2", "0x7ffe"] {
            check(bad, Err("must be a handle"));
        }
    }
}
