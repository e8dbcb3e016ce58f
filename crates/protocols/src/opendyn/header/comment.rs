//! What a comment says about a function: doxygen, kernel-doc and plain text.

/// The longest description taken from a comment.
const MOST_TEXT: usize = 600;
/// The longest description of a parameter.
const MOST_PARAMETER: usize = 240;

/// A comment as far as a description needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Documentation {
    /// What the function does.
    pub(super) text: String,
    /// What it says about parameters, by name.
    pub(super) parameters: Vec<DocumentedParameter>,
    /// What the function returns.
    pub(super) returns: Option<String>,
    /// All words of the comment, for what they mention.
    pub(super) whole: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DocumentedParameter {
    pub(super) name: String,
    pub(super) text: String,
    /// `in`, `out` or `in,out`, where the comment says so.
    pub(super) direction: Option<String>,
}

/// Where the next line of a comment belongs.
enum Part {
    Text,
    Parameter,
    Returns,
    Nowhere,
}

impl Documentation {
    /// Reads the comments in front of or behind a function, several `//` lines as one.
    pub(super) fn read(comment: &str) -> Option<Self> {
        let mut read = Documentation::default();
        let mut part = Part::Text;
        for line in comment.lines().map(bare).filter(|line| !is_filing(line)) {
            read.whole.push_str(line);
            read.whole.push('\n');
            read.line(line, &mut part);
        }
        read.text = cut(&cleaned(&read.text), MOST_TEXT);
        for parameter in &mut read.parameters {
            parameter.text = cut(&cleaned(&parameter.text), MOST_PARAMETER);
        }
        read.parameters.retain(|parameter| !parameter.text.is_empty());
        read.returns =
            read.returns.map(|text| cut(&cleaned(&text), MOST_PARAMETER)).filter(|text| !text.is_empty());
        if is_heading(&read.text) {
            read.text.clear();
        }
        let is_empty = read.text.is_empty() && read.parameters.is_empty() && read.returns.is_none();
        (!is_empty).then_some(read)
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&DocumentedParameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    fn line(&mut self, line: &str, part: &mut Part) {
        if let Some(title) = line.strip_prefix("CAPI3REF:") {
            push(&mut self.text, &format!("{}.", title.trim()));
            return;
        }
        if let Some((command, rest)) = command(line) {
            *part = self.command(command, rest);
            return;
        }
        if let Some((name, text)) = kernel_parameter(line) {
            self.add_parameter(name, text, None);
            *part = Part::Parameter;
            return;
        }
        if line.is_empty() && matches!(part, Part::Parameter | Part::Returns) {
            *part = Part::Text;
        }
        match part {
            Part::Text => push(&mut self.text, line),
            Part::Parameter => {
                if let Some(last) = self.parameters.last_mut() {
                    push(&mut last.text, line);
                }
            }
            Part::Returns => push(self.returns.get_or_insert_default(), line),
            Part::Nowhere => {}
        }
    }

    fn command(&mut self, command: &str, rest: &str) -> Part {
        match command.split('[').next().unwrap_or_default() {
            "param" => {
                let direction =
                    command.split_once('[').map(|(_, rest)| rest.trim_end_matches(']').to_owned());
                let (name, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                let name = name.trim_end_matches([':', ',']);
                self.add_parameter(name, text.trim().trim_start_matches(['-', ':']).trim(), direction);
                Part::Parameter
            }
            "return" | "returns" | "retval" | "result" => {
                push(self.returns.get_or_insert_default(), rest);
                Part::Returns
            }
            "brief" | "details" | "short" | "note" | "warning" | "remark" | "remarks" | "attention" | "p"
            | "c" | "a" | "e" | "b" | "em" | "ref" | "link" => {
                push(&mut self.text, rest);
                Part::Text
            }
            "deprecated" => {
                push(&mut self.text, "Deprecated.");
                push(&mut self.text, rest);
                Part::Text
            }
            // What is left says where the text stands, not what it says.
            _ => Part::Nowhere,
        }
    }

    fn add_parameter(&mut self, name: &str, text: &str, direction: Option<String>) {
        let (name, text) = (name.to_owned(), text.to_owned());
        self.parameters.push(DocumentedParameter { name, text, direction });
    }
}

/// Several comments as one text, without the signs around them.
pub(super) fn bare_text(comment: &str) -> &str {
    let inner = comment.trim_start_matches('/').trim_start_matches('*').trim_start_matches(['!', '<']);
    inner.trim_end_matches("*/").trim_end_matches('*')
}

/// A line without the stars and slashes in front of it.
fn bare(line: &str) -> &str {
    let line = line.trim().trim_start_matches("//").trim_start_matches(['/', '!', '<']);
    let line = line.trim_start_matches("/*").trim_end_matches("*/").trim_start_matches('*').trim();
    // Lines of signs separate parts of a header.
    let is_ruler =
        line.len() > 3 && line.bytes().all(|byte| matches!(byte, b'-' | b'=' | b'*' | b'_' | b'#' | b'+'));
    if is_ruler { "" } else { line }
}

/// Lines that file a comment rather than say something: those of SQLite.
fn is_filing(line: &str) -> bool {
    ["METHOD:", "CONSTRUCTOR:", "DESTRUCTOR:", "KEYWORDS:", "OBJECT:"]
        .iter()
        .any(|word| line.starts_with(word))
}

/// The name of a source file, or a title of a part of the header.
fn is_heading(text: &str) -> bool {
    let ending = std::path::Path::new(text).extension();
    let is_file = !text.contains(' ') && ending.is_some_and(|ending| ending == "c" || ending == "h");
    let is_title = text.len() > 4
        && ["--", "==", "**"].iter().any(|sign| text.starts_with(sign) && text.ends_with(sign));
    is_file || is_title
}

/// `@param x` or `\param x` as the command and the rest.
fn command(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix(['@', '\\'])?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (command, rest) = rest.split_at(end);
    let is_command = command.starts_with(|c: char| c.is_ascii_lowercase()) && !command.ends_with(':');
    is_command.then_some((command, rest.trim()))
}

/// `@name: text` of kernel-doc.
fn kernel_parameter(line: &str) -> Option<(&str, &str)> {
    let (name, text) = line.strip_prefix('@')?.split_once(':')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, text.trim()))
}

fn push(text: &mut String, line: &str) {
    if line.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(line);
}

/// Without markup that nobody reads.
fn cleaned(text: &str) -> String {
    let mut clean =
        text.replace(" ^", " ").replace("^(", "").replace(")^", "").replace("[[", "").replace("]]", "");
    for (from, to) in [
        ("<b>", ""),
        ("</b>", ""),
        ("<p>", " "),
        ("\\c ", ""),
        ("@c ", ""),
        ("\\p ", ""),
        ("@p ", ""),
        ("\\ref ", ""),
        ("@ref ", ""),
    ] {
        clean = clean.replace(from, to);
    }
    clean.split_whitespace().collect::<Vec<_>>().join(" ").trim_start_matches('^').to_owned()
}

/// At most so many characters: whole sentences if there is one, otherwise whole words.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most).collect();
    match head.rfind(". ").filter(|at| *at > most / 4) {
        Some(end) => head[..=end].to_owned(),
        None => format!("{}…", head.rsplit_once(' ').map_or(head.as_str(), |(words, _)| words)),
    }
}

/// Whether a text says that a pointer may be NULL. `name` is that of the parameter, for texts about more than it.
pub(super) fn allows_null(text: &str, name: Option<&str>) -> bool {
    const WORDS: [&str; 9] =
        ["may be", "can be", "or null", "optional", "if null", "is null", "be null", "null if", "null to"];
    let is_about = |sentence: &str| match name {
        None => true,
        Some(name) => {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            sentence.split(|c: char| !is_part(c)).any(|word| word == name)
        }
    };
    let forbids = |lower: &str| {
        lower.contains("not be null") || lower.contains("non-null") || lower.contains("not null")
    };
    text.split(['.', ';']).filter(|sentence| is_about(sentence)).any(|sentence| {
        let lower = sentence.to_lowercase();
        let mentions = lower.contains("null") || lower.contains("optional");
        mentions && !forbids(&lower) && WORDS.iter().any(|word| lower.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(comment: &str, text: &str, parameters: &[(&str, &str)], returns: Option<&str>) {
        let read = Documentation::read(bare_text(comment)).unwrap_or_default();
        assert_eq!(read.text, text);
        let read_parameters: Vec<(&str, &str)> = read
            .parameters
            .iter()
            .map(|parameter| (parameter.name.as_str(), parameter.text.as_str()))
            .collect();
        assert_eq!(read_parameters, parameters);
        assert_eq!(read.returns.as_deref(), returns);
    }

    #[test]
    fn every_common_style_is_read() {
        check("/* Adds. */", "Adds.", &[], None);
        check("// one\n// two", "one two", &[], None);
        check(
            "/**\n * @brief Opens a file.\n *\n * @param[in] path the name,\n *   as text\n * @param mode how\n * @return 0 or an error\n */",
            "Opens a file.",
            &[("path", "the name, as text"), ("mode", "how")],
            Some("0 or an error"),
        );
        check(
            "/**\n * add() - sums\n * @a: one\n * @b: other\n */",
            "add() - sums",
            &[("a", "one"), ("b", "other")],
            None,
        );
        check("/*! \\param x value\n \\return it */", "", &[("x", "value")], Some("it"));
        check("/*************\n ** Text\n *************/", "Text", &[], None);
        check("///< behind", "behind", &[], None);
        check("/* ---- */", "", &[], None);
    }

    #[test]
    fn long_texts_end_with_a_sentence() {
        let text = format!("{}. {}", "a".repeat(300), "b".repeat(600));
        assert_eq!(cut(&text, 600), format!("{}.", "a".repeat(300)));
        assert_eq!(cut("one two three", 9), "one two…");
    }

    #[test]
    fn null_is_allowed_where_a_comment_says_so() {
        for (text, name, expect) in [
            ("the area, may be NULL", None, true),
            ("Must not be NULL", None, false),
            ("If error is NULL it is ignored", Some("error"), true),
            ("If error is NULL it is ignored", Some("path"), false),
            ("returns NULL", None, false),
        ] {
            assert_eq!(allows_null(text, name), expect, "{text}");
        }
    }
}
