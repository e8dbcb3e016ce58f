//! What a `content-type` says about how a body is read.

/// How a body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaKind {
    Json,
    Text,
    Bytes,
    /// The server does not say.
    Unknown,
}

/// The kind of a type, its parameters left out.
pub(super) fn media_kind(content_type: &str) -> MediaKind {
    let bare = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let Some((kind, rest)) = bare.split_once('/') else { return MediaKind::Unknown };
    let ends_as = |ending: &str| rest == ending || rest.ends_with(&format!("+{ending}"));
    if ends_as("json") || rest == "json5" {
        return MediaKind::Json;
    }
    let is_text = kind == "text"
        || ["xml", "yaml"].into_iter().any(ends_as)
        || matches!(
            rest,
            "javascript"
                | "x-yaml"
                | "x-ndjson"
                | "jsonl"
                | "ndjson"
                | "toml"
                | "sql"
                | "graphql"
                | "x-sh"
                | "x-www-form-urlencoded"
        );
    if is_text { MediaKind::Text } else { MediaKind::Bytes }
}

/// A body as text, by its `charset`; none when it is not text of that one.
pub(super) fn text_of(body: &[u8], content_type: Option<&str>) -> Option<String> {
    let charset = content_type.and_then(charset).unwrap_or_else(|| "utf-8".to_owned());
    match charset.as_str() {
        // Each byte is the character of its number.
        "iso-8859-1" | "latin1" | "windows-1252" if std::str::from_utf8(body).is_err() => {
            Some(body.iter().map(|byte| char::from(*byte)).collect())
        }
        _ => {
            let bare = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
            std::str::from_utf8(bare).ok().map(str::to_owned)
        }
    }
}

fn charset(content_type: &str) -> Option<String> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"').to_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_say_how_bodies_are_read() {
        for (content_type, expect) in [
            ("application/json", MediaKind::Json),
            ("Application/Problem+JSON; charset=utf-8", MediaKind::Json),
            ("text/html", MediaKind::Text),
            ("application/atom+xml", MediaKind::Text),
            ("image/png", MediaKind::Bytes),
            ("application/octet-stream", MediaKind::Bytes),
            ("", MediaKind::Unknown),
        ] {
            assert_eq!(media_kind(content_type), expect, "{content_type}");
        }
        assert_eq!(text_of(b"\xe9", Some("text/plain; charset=\"ISO-8859-1\"")).as_deref(), Some("é"));
        assert_eq!(text_of(b"\xe9", Some("text/plain")), None);
    }
}
