//! Functions of a library that say why another one failed: `sqlite3_errmsg`, `curl_easy_strerror`, `git_error_last`.

use serde_json::{Value, json};

use super::c_type::CType;
use super::facts::object_of;
use super::syntax::{Declaration, Header};
use super::words::words;

/// A function that gives the reason of a failure as a text.
#[derive(Debug)]
pub(super) struct Explainer<'a> {
    symbol: &'a str,
    takes: Takes<'a>,
    /// It returns a structure that begins with the text.
    indirect: bool,
}

#[derive(Debug)]
enum Takes<'a> {
    Nothing,
    Object(&'a str),
    Number(&'a CType),
}

/// All that a header declares.
pub(super) fn explainers(header: &Header) -> Vec<Explainer<'_>> {
    header.declarations.iter().filter_map(|declaration| explainer(header, declaration)).collect()
}

fn explainer<'a>(header: &'a Header, declaration: &'a Declaration) -> Option<Explainer<'a>> {
    let symbol = declaration.name.as_str();
    let CType::Pointer { to, .. } = &declaration.returns else { return None };
    let indirect = match &**to {
        CType::Scalar("char") => false,
        CType::Opaque(kind) if begins_with_text(header, kind) => true,
        _ => return None,
    };
    let takes = match &declaration.parameters[..] {
        [] => Takes::Nothing,
        [only] => match object_of(&only.c) {
            Some(kind) => Takes::Object(kind),
            None => Takes::Number(header.types.number(&only.c).map(|_| &only.c)?),
        },
        _ => return None,
    };
    let is_plain = !indirect || matches!(takes, Takes::Nothing);
    (is_plain && is_reason(symbol)).then_some(Explainer { symbol, takes, indirect })
}

/// `struct { char *message; int klass; }`
fn begins_with_text(header: &Header, kind: &str) -> bool {
    let first = header.types.structure(kind).and_then(|fields| fields.all.first());
    first.is_some_and(|field| matches!(&field.c, CType::Pointer { to, .. } if **to == CType::Scalar("char")))
}

/// Whether a name is that of a function that gives the reason of a failure.
fn is_reason(name: &str) -> bool {
    const WHOLE: [&str; 5] = ["errmsg", "strerror", "errstr", "errorstring", "errormessage"];
    const KINDS: [&str; 8] = ["string", "message", "msg", "text", "name", "last", "str", "description"];
    const OTHER: [&str; 6] = ["set", "clear", "print", "code", "parse", "new"];
    let words = words(name);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let is_error =
        has(&["error", "err"]) && (has(&KINDS) || words.last().is_some_and(|last| last == "error"));
    (has(&WHOLE) || is_error) && !has(&OTHER)
}

/// The member `errorMessage` of a function that can fail, if some function explains its failures: that of an object
/// that it takes or makes, else that of the value that it returns, else that of the last failure of all.
pub(super) fn error_message(
    explainers: &[Explainer<'_>],
    declaration: &Declaration,
    parameters: &[Value],
) -> Option<Value> {
    let others = || explainers.iter().filter(|one| one.symbol != declaration.name);
    let by_object = parameters.iter().find_map(|parameter| {
        let c = &parameter["schema"]["cType"];
        let kind = c["handle"].as_str().filter(|_| c["closes"] != true)?;
        let found = others().find(|one| matches!(one.takes, Takes::Object(own) if own == kind))?;
        Some(json!({ "symbol": found.symbol, "of": parameter["name"] }))
    });
    let by_value = || {
        let is_same =
            |one: &&Explainer<'_>| matches!(one.takes, Takes::Number(own) if *own == declaration.returns);
        others().find(is_same).map(|found| json!({ "symbol": found.symbol, "of": "return" }))
    };
    let by_nothing = || {
        let found = others().find(|one| matches!(one.takes, Takes::Nothing))?;
        let mut message = json!({ "symbol": found.symbol });
        if found.indirect {
            message["indirect"] = true.into();
        }
        Some(message)
    };
    by_object.or_else(by_value).or_else(by_nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_who_explains_failures() {
        for name in [
            "sqlite3_errmsg",
            "curl_easy_strerror",
            "git_error_last",
            "archive_error_string",
            "magic_error",
            "zError",
            "ZSTD_getErrorName",
            "argon2_error_message",
        ] {
            assert!(is_reason(name), "{name}");
        }
        for name in ["git_error_set_str", "sqlite3_errcode", "json_error_new", "geterrors", "terror_name"] {
            assert!(!is_reason(name), "{name}");
        }
    }
}
