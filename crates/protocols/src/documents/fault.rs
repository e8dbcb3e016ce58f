//! Faults of a document that people write: what is wrong, where exactly, and what to do about it.
//! A reader reports by path; lines and columns are looked up once, at the end, and only if there is need.

use std::collections::HashMap;
use std::fmt;

use super::document_text::is_json;
use super::yaml::locate_in_yaml;

/// How many faults of one document are told at most.
const MOST_FAULTS: usize = 1_000;

/// How bad a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// What it stands in cannot be used.
    Fatal,
    /// Within the specification, but what it stands in cannot be used here.
    Unusable,
    /// Against the specification, but a reader of good will knows what is meant.
    Tolerable,
    /// Within the specification or common in public documents, and worth a second look.
    Warning,
}

impl Weight {
    /// True when the document breaks its specification, false when this is only a warning.
    pub fn is_fault(self) -> bool {
        match self {
            Weight::Fatal | Weight::Tolerable => true,
            Weight::Unusable | Weight::Warning => false,
        }
    }

    /// True when what it stands in cannot be used.
    fn prevents_use(self) -> bool {
        match self {
            Weight::Fatal | Weight::Unusable => true,
            Weight::Tolerable | Weight::Warning => false,
        }
    }
}

/// One thing wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where, as `$.functions[0].name`.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
    /// How bad it is.
    pub weight: Weight,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} at `{}`", self.line, self.column, self.what, self.path)
    }
}

/// A place in a document, as a reader holds it on its way down.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Path<'a> {
    Root,
    Member(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(crate) fn member(&'a self, name: &'a str) -> Path<'a> {
        Path::Member(self, name)
    }

    pub(crate) fn item(&'a self, index: usize) -> Path<'a> {
        Path::Item(self, index)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => f.write_str("$"),
            Path::Member(parent, name) => {
                write!(f, "{parent}")?;
                f.write_str(&member_step(name))
            }
            Path::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

pub(super) fn member_step(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !name.is_empty() && name.bytes().all(plain) {
        format!(".{name}")
    } else {
        format!("[{}]", serde_json::Value::from(name))
    }
}

/// What a reader found wrong so far.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    found: Vec<(Fault, String)>,
    fatal: usize,
}

impl Faults {
    /// Reports a fault of what is at a place.
    pub(crate) fn fatal(&mut self, at: &Path<'_>, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(at.to_string(), at.to_string(), (what.into(), remedy.into()), Weight::Fatal);
    }

    /// Reports a fault of what is at a place that a reader of good will overlooks.
    pub(crate) fn tolerable(&mut self, at: &Path<'_>, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(at.to_string(), at.to_string(), (what.into(), remedy.into()), Weight::Tolerable);
    }

    /// Reports what is legal at a place, but cannot be used here.
    pub(crate) fn unusable(&mut self, at: &Path<'_>, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(at.to_string(), at.to_string(), (what.into(), remedy.into()), Weight::Unusable);
    }

    /// Reports what is no fault, but worth a second look.
    pub(crate) fn warning(&mut self, at: &Path<'_>, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(at.to_string(), at.to_string(), (what.into(), remedy.into()), Weight::Warning);
    }

    /// Reports a member that is not there; the line is that of the object it should be in.
    pub(crate) fn missing(&mut self, parent: &Path<'_>, name: &str, weight: Weight, remedy: &str) {
        let words = (format!("`{name}` is missing"), remedy.to_owned());
        self.add(parent.member(name).to_string(), parent.to_string(), words, weight);
    }

    /// Reports a fault of what is at a place that is written out, as `$.paths["/a"].get`: what is wrong, and the remedy.
    pub(crate) fn found(&mut self, path: String, words: (String, String), weight: Weight) {
        self.add(path.clone(), path, words, weight);
    }

    fn add(&mut self, path: String, anchor: String, (what, remedy): (String, String), weight: Weight) {
        self.fatal += usize::from(weight.prevents_use());
        if self.found.len() < MOST_FAULTS {
            self.found.push((Fault { path, line: 1, column: 1, what, remedy, weight }, anchor));
        }
    }

    /// How many faults so far keep something from being used.
    pub(crate) fn fatal_count(&self) -> usize {
        self.fatal
    }

    /// The words of the first such fault after `count` of them.
    pub(crate) fn words_since(&self, count: usize) -> Option<String> {
        let mut fatal = self.found.iter().filter(|(fault, _)| fault.weight.prevents_use());
        fatal.nth(count).map(|(fault, _)| format!("{} at `{}`", fault.what, fault.path))
    }

    /// The faults with their lines and columns in `text`, which must be JSON or YAML, in the order of the text.
    pub(crate) fn placed(self, text: &str) -> Vec<Fault> {
        if self.found.is_empty() {
            return Vec::new();
        }
        let anchors = self.found.iter().map(|(_, anchor)| anchor.clone());
        let places = if is_json(text) {
            locate_in_json(text, anchors)
        } else {
            let mut wanted = anchors.map(|anchor| (anchor, (1, 1))).collect();
            locate_in_yaml(text, &mut wanted);
            wanted
        };
        let mut faults: Vec<Fault> = Vec::new();
        for (mut fault, anchor) in self.found {
            (fault.line, fault.column) = places.get(&anchor).copied().unwrap_or((1, 1));
            faults.push(fault);
        }
        faults.sort_by_key(|fault| (fault.line, fault.column));
        faults
    }
}

/// The text of a document without the byte order mark that some editors write before it.
pub fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A text that is no JSON has one fault: the place where reading it ended.
pub(crate) fn not_json(error: &serde_json::Error) -> Fault {
    Fault {
        path: "$".to_owned(),
        line: error.line().max(1),
        column: error.column().max(1),
        what: format!("the text is not JSON: {error}"),
        remedy: "write one JSON object without repeated members".to_owned(),
        weight: Weight::Fatal,
    }
}

/// The lines and columns of values in a text that is known to be good JSON.
fn locate_in_json(text: &str, wanted: impl Iterator<Item = String>) -> HashMap<String, (usize, usize)> {
    let mut scan = Scan { text, at: 0, path: "$".to_owned(), wanted: wanted.map(|path| (path, 0)).collect() };
    scan.value();
    let mut offsets: Vec<(String, usize)> = scan.wanted.into_iter().collect();
    offsets.sort_by_key(|(_, offset)| *offset);
    // In one pass: a long text may have many faults.
    let (mut line, mut begins, mut seen) = (1, 0, 0);
    let place = |(path, offset): (String, usize)| {
        let between = &text[seen..offset];
        line += between.matches('\n').count();
        begins = between.rfind('\n').map_or(begins, |end| seen + end + 1);
        seen = offset;
        (path, (line, text[begins..offset].chars().count() + 1))
    };
    offsets.into_iter().map(place).collect()
}

/// Walks over JSON that is known to be good and notes where the wanted values begin.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    path: String,
    wanted: HashMap<String, usize>,
}

impl Scan<'_> {
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t' | b',' | b':')) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn value(&mut self) {
        let first = self.peek();
        if let Some(offset) = self.wanted.get_mut(&self.path) {
            *offset = self.at;
        }
        match first {
            Some(b'{') => self.members(),
            Some(b'[') => self.items(),
            Some(b'"') => drop(self.string()),
            _ => self.scalar(),
        }
    }

    fn members(&mut self) {
        self.at += 1;
        let length = self.path.len();
        while self.peek() == Some(b'"') {
            let name = self.string();
            self.path.push_str(&member_step(&name));
            self.value();
            self.path.truncate(length);
        }
        self.at += 1;
    }

    fn items(&mut self) {
        self.at += 1;
        let length = self.path.len();
        for index in 0.. {
            if matches!(self.peek(), None | Some(b']')) {
                break;
            }
            self.path.extend(["[", &index.to_string(), "]"]);
            self.value();
            self.path.truncate(length);
        }
        self.at += 1;
    }

    fn string(&mut self) -> String {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let quoted = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(quoted).unwrap_or_default()
    }

    fn scalar(&mut self) {
        let bytes = self.text.as_bytes();
        while bytes
            .get(self.at)
            .is_some_and(|b| !matches!(b, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t'))
        {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, path: &Path<'_>, expect: (&str, usize, usize)) {
        let mut faults = Faults::default();
        faults.fatal(path, "x", "y");
        let placed = faults.placed(text);
        assert_eq!((placed[0].path.as_str(), placed[0].line, placed[0].column), expect);
    }

    #[test]
    fn a_fault_points_at_the_value_it_is_about() {
        let text = "{\n  \"a\": [1, {\"b\\\"c\": true}],\n\t\"d\": \"é\", \"e\": null }";
        let (root, a) = (Path::Root, Path::Root.member("a"));
        check(text, &root, ("$", 1, 1));
        check(text, &a.item(0), ("$.a[0]", 2, 9));
        check(text, &a.item(1).member("b\"c"), ("$.a[1][\"b\\\"c\"]", 2, 21));
        check(text, &root.member("e"), ("$.e", 3, 17));
    }

    #[test]
    fn a_missing_member_points_at_its_object() {
        let mut faults = Faults::default();
        faults.missing(&Path::Root.member("a"), "name", Weight::Fatal, "add it");
        let placed = faults.placed("{\n \"a\": {} }");
        assert_eq!(placed[0].to_string(), "2:7: `name` is missing at `$.a.name`");
    }
}
