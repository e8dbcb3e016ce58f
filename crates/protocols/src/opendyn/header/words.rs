//! Names of C as words: what a name says about a length, a direction, an end.

/// Words that end an object when they are the verb of a function, and whether they also end its memory.
const ENDINGS: [(&str, End); 12] = [
    ("free", End::Whole),
    ("destroy", End::Whole),
    ("delete", End::Whole),
    ("finalize", End::Whole),
    ("dispose", End::Whole),
    ("unref", End::Whole),
    ("fini", End::Whole),
    ("close", End::Partial),
    ("release", End::Partial),
    ("cleanup", End::Partial),
    ("finish", End::Partial),
    ("shutdown", End::Partial),
];

/// How much of an object a function ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// The object may still have to be freed, if another function does that.
    Partial,
    Whole,
}

/// `sqlite3_openV2` as `sqlite3`, `open`, `v2`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let letters: Vec<char> = name.chars().collect();
    let mut fresh = true;
    for (index, letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            fresh = true;
            continue;
        }
        let before = index.checked_sub(1).map(|index| letters[index]);
        let after = letters.get(index + 1);
        let lower_before = before.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit());
        let word_start =
            letter.is_uppercase() && (lower_before || after.is_some_and(|after| after.is_lowercase()));
        if fresh || word_start {
            words.push(String::new());
        }
        fresh = false;
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

/// Whether a function is named as one that ends an object of a kind.
pub(super) fn ending(function: &str, kind: &str) -> Option<End> {
    let words = words(function);
    let is_suffix = |word: &str| {
        matches!(word, "r" | "ex" | "all" | "full" | "s" | "p")
            || word.strip_prefix('v').is_some_and(is_digits)
    };
    let last = words.iter().rposition(|word| !is_suffix(word))?;
    if let Some((_, end)) = ENDINGS.iter().find(|(ending, _)| is_verb(&words[last], ending)) {
        return Some(*end);
    }
    // `xmlFreeDoc`, `fftw_destroy_plan`: what is ended stands behind the verb.
    let (at, end) = words
        .iter()
        .enumerate()
        .find_map(|(at, word)| Some((at, ENDINGS.iter().find(|(ending, _)| word == ending)?.1)))?;
    let kind = kind.to_lowercase();
    let object = words[at + 1..=last].concat();
    (!object.is_empty() && kind.replace('_', "").contains(&object)).then_some(end)
}

/// `close`, and `gzclose` too.
fn is_verb(word: &str, ending: &str) -> bool {
    word == ending || (matches!(ending, "close" | "free") && word.ends_with(ending))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a function is named as one that makes an object.
pub(super) fn is_making(function: &str) -> bool {
    const VERBS: [&str; 14] = [
        "new", "create", "open", "init", "alloc", "make", "dup", "copy", "clone", "load", "parse", "compile",
        "encode", "read",
    ];
    words(function).iter().any(|word| VERBS.contains(&word.as_str()))
}

/// Whether a name is that of a number of bytes or elements.
pub(super) fn is_length(name: &str) -> bool {
    const WHOLE: [&str; 8] = ["n", "len", "sz", "num", "cnt", "nel", "nmemb", "amt"];
    const PARTS: [&str; 12] = [
        "len", "length", "size", "count", "bytes", "nbyte", "nbytes", "capacity", "cap", "sz", "num", "avail",
    ];
    let words = words(name);
    let Some(last) = words.last() else { return false };
    WHOLE.contains(&last.as_str())
        || PARTS.contains(&last.as_str())
        || PARTS.iter().any(|part| part.len() > 2 && last.ends_with(part))
        || words.first().is_some_and(|first| matches!(first.as_str(), "n" | "num") && words.len() > 1)
        || is_hungarian_count(name)
}

/// `nByte`, `nData`, but not `name`.
fn is_hungarian_count(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next() == Some('n') && letters.next().is_some_and(char::is_uppercase)
}

/// Whether a name is that of room for something, not of something.
pub(super) fn is_capacity(name: &str) -> bool {
    let lower = name.to_lowercase();
    ["cap", "max", "room", "avail"].iter().any(|part| lower.contains(part))
}

/// Whether a name is that of something a function reads.
pub(super) fn is_source(name: &str) -> bool {
    const SOURCES: [&str; 6] = ["src", "source", "in", "input", "pattern", "subject"];
    words(name).first().is_some_and(|first| SOURCES.contains(&first.as_str()))
}

/// Whether a name is that of something a function writes.
pub(super) fn is_destination(name: &str) -> bool {
    const DESTINATIONS: [&str; 10] =
        ["dst", "dest", "destination", "out", "output", "buf", "buffer", "res", "ret", "to"];
    words(name).iter().any(|word| DESTINATIONS.contains(&word.as_str()))
}

/// Whether a pointer of that name is read and then written by a function.
pub(super) fn is_read_and_written(name: &str) -> bool {
    const WORDS: [&str; 13] = [
        "seed",
        "seedp",
        "pos",
        "position",
        "offset",
        "cursor",
        "iter",
        "inout",
        "state",
        "remaining",
        "idx",
        "index",
        "startoffset",
    ];
    words(name).iter().any(|word| WORDS.contains(&word.as_str()))
}

/// Whether a name is that of many things.
pub(super) fn is_plural(name: &str) -> bool {
    const SINGULAR: [&str; 14] = [
        "status", "pos", "radius", "axis", "class", "address", "success", "process", "access", "progress",
        "args", "bits", "bytes", "flags",
    ];
    let Some(last) = words(name).pop() else { return false };
    matches!(last.as_str(), "array" | "arr" | "vector" | "vec" | "list" | "argv" | "table" | "matrix")
        || (last.len() > 3
            && last.ends_with('s')
            && !last.ends_with("ss")
            && !SINGULAR.contains(&last.as_str()))
}

/// Whether a pointer to texts of that name is a list of them.
pub(super) fn is_texts(name: &str) -> bool {
    let last = words(name).pop().unwrap_or_default();
    is_plural(name) || matches!(last.as_str(), "argv" | "args" | "atts" | "envp" | "lst" | "slst")
}

/// Whether a callback stays with an object when the function that takes it has returned.
pub(super) fn is_registering(function: &str) -> bool {
    const VERBS: [&str; 13] = [
        "set",
        "listen",
        "register",
        "on",
        "handler",
        "hook",
        "add",
        "install",
        "subscribe",
        "callback",
        "cb",
        "watch",
        "trace",
    ];
    words(function).iter().any(|word| VERBS.contains(&word.as_str()))
}

/// Whether a pointer of that name is handed back to callbacks and nothing else.
pub(super) fn is_user_data(name: &str) -> bool {
    const NAMES: [&str; 16] = [
        "userdata",
        "user",
        "userptr",
        "userarg",
        "ctx",
        "context",
        "arg",
        "opaque",
        "closure",
        "clientdata",
        "cookie",
        "priv",
        "privatedata",
        "payload",
        "cbdata",
        "pappdata",
    ];
    NAMES.contains(&words(name).concat().as_str())
}

/// Whether a pointer of that name is usually left out.
pub(super) fn is_optional(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "error",
        "err",
        "errmsg",
        "errormessage",
        "opts",
        "options",
        "option",
        "config",
        "params",
        "attr",
        "area",
        "tail",
        "hints",
        "allocator",
    ];
    let words = words(name);
    NAMES.contains(&words.concat().as_str())
        || words.last().is_some_and(|last| matches!(last.as_str(), "options" | "opts" | "errmsg"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_words() {
        for (name, expect) in [
            ("sqlite3_open_v2", "sqlite3 open v2"),
            ("GEOSGeom_destroy_r", "geos geom destroy r"),
            ("xmlFreeDoc", "xml free doc"),
            ("ZSTD_freeCCtx", "zstd free c ctx"),
            ("deflateEnd", "deflate end"),
        ] {
            assert_eq!(words(name).join(" "), expect, "{name}");
        }
    }

    #[test]
    fn only_whole_words_end_an_object() {
        for (function, kind, expect) in [
            ("GEOSisClosed_r", "GEOSGeometry", None),
            ("gdImageColorClosest", "gdImage", None),
            ("sqlite3_db_release_memory", "sqlite3", None),
            ("zip_source_is_deleted", "zip_source", None),
            ("GEOSGeom_destroy_r", "GEOSGeometry", Some(End::Whole)),
            ("sqlite3_close_v2", "sqlite3", Some(End::Partial)),
            ("gzclose", "gzFile_s", Some(End::Partial)),
            ("xmlFreeDoc", "xmlDoc", Some(End::Whole)),
            ("xmlFreeDoc", "xmlNode", None),
            ("ZSTD_freeCCtx", "ZSTD_CCtx", Some(End::Whole)),
            ("archive_read_close", "archive", Some(End::Partial)),
            ("curl_easy_cleanup", "CURL", Some(End::Partial)),
        ] {
            assert_eq!(ending(function, kind), expect, "{function}");
        }
    }

    #[test]
    fn names_tell_lengths_and_directions() {
        for name in
            ["len", "srcSize", "dstCapacity", "nByte", "destLen", "n", "buf_len", "sourceLen", "maxlen"]
        {
            assert!(is_length(name), "{name}");
        }
        for name in ["name", "level", "flags", "x", "nan", "index"] {
            assert!(!is_length(name), "{name}");
        }
        assert!(is_destination("dst") && is_destination("pDest") && !is_destination("total"));
        assert!(is_plural("values") && !is_plural("status") && is_plural("result_array"));
    }
}
