//! Command lines for people to paste: curl, with every word quoted so that the shell leaves it as it is.

use std::borrow::Cow;

use serde_json::Value;

/// Sends a JSON value.
pub fn post(url: &str, body: &Value) -> String {
    let (url, body) = (quoted(url), body.to_string());
    format!("curl {url} -H 'content-type: application/json' -d {}", quoted(&body))
}

/// A word that the shell takes for exactly this text.
pub fn quoted(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+=,".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    // Nothing is special between single quotes but the quote itself.
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use serde_json::json;

    use super::*;

    /// What the shell makes of a word.
    fn check(text: &str, expect: &str) {
        let word = quoted(text);
        assert_eq!(word, expect);
        let said = Command::new("sh").args(["-c", &format!("printf %s {word}")]).output().expect("a shell");
        assert_eq!(String::from_utf8_lossy(&said.stdout), text);
    }

    #[test]
    fn the_shell_gives_back_what_was_quoted() {
        check("http://127.0.0.1:9627/mcp", "http://127.0.0.1:9627/mcp");
        check("", "''");
        check("it's", r"'it'\''s'");
        check("http://[::1]:9627", "'http://[::1]:9627'");
        check(r#"$HOME `id` \ "x" *"#, r#"'$HOME `id` \ "x" *'"#);
        check("'", r"''\'''");
    }

    #[test]
    fn a_body_is_one_word() {
        let line = post("http://127.0.0.1:1/tools/call", &json!({ "text": "it's" }));
        let expect = r#"curl http://127.0.0.1:1/tools/call -H 'content-type: application/json' -d '{"text":"it'\''s"}'"#;
        assert_eq!(line, expect);
    }
}
