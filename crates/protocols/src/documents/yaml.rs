//! YAML 1.2 as JSON values, within bounds. Aliases are copies, so that what they expand to is counted before it is made.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};
use serde_json::{Map, Value};

use super::document_limits::{MOST_BYTES, MOST_DEPTH, MOST_VALUES};
use super::fault::{Fault, Weight, member_step};
use super::yaml_scalar::{plain_value, tagged_value};

/// The key whose value's members are those of the mapping it stands in.
const MERGE: &str = "<<";

/// Reads a text with one YAML document.
pub(crate) fn read_yaml(text: &str) -> Result<Value, Fault> {
    let mut reader = Reader::default();
    for event in events(text) {
        let (event, span) = event.map_err(|error| unreadable(&error))?;
        reader.take(event, span.start)?;
    }
    reader.root.ok_or_else(|| fault("the text has no YAML document", Marker::new(0, 1, 0)))
}

/// Notes where the wanted values begin, by line and column from 1, in a text that is known to be good YAML.
pub(crate) fn locate_in_yaml(text: &str, wanted: &mut HashMap<String, (usize, usize)>) {
    let mut locator = Locator { path: "$".to_owned(), open: Vec::new(), wanted };
    for (event, span) in events(text).map_while(Result::ok) {
        locator.take(&event, span.start);
    }
}

fn events(text: &str) -> impl Iterator<Item = Result<(Event<'_>, Span), ScanError>> {
    let mut parser = Parser::new_from_str(text);
    let mut ended = false;
    std::iter::from_fn(move || {
        let event = if ended { None } else { parser.next_event() };
        ended = !matches!(event, Some(Ok(_)));
        event
    })
}

fn unreadable(error: &ScanError) -> Fault {
    fault(&format!("the text is not YAML: {}", error.info()), *error.marker())
}

fn fault(what: &str, at: Marker) -> Fault {
    Fault {
        path: "$".to_owned(),
        line: at.line().max(1),
        column: at.col() + 1,
        what: what.to_owned(),
        remedy: "write one JSON or YAML document".to_owned(),
        weight: Weight::Fatal,
    }
}

/// A collection that is not closed yet.
enum Open {
    Sequence(Vec<Value>),
    Mapping { members: Map<String, Value>, key: Option<String>, merged: Vec<Value> },
}

/// A value that aliases may repeat, and what it takes to make it again.
struct Anchored {
    value: Value,
    values: usize,
    bytes: usize,
}

#[derive(Default)]
struct Reader {
    /// Each open collection with its anchor, and what had been read before it.
    open: Vec<(Open, usize, (usize, usize))>,
    anchors: HashMap<usize, Anchored>,
    root: Option<Value>,
    values: usize,
    bytes: usize,
    /// How many values are kept for aliases.
    kept: usize,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, at: Marker) -> Result<(), Fault> {
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(fault("the text has more than one YAML document", at))
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
            Event::SequenceStart(anchor, _) => self.begin(Open::Sequence(Vec::new()), anchor, at),
            Event::MappingStart(anchor, _) => {
                let mapping = Open::Mapping { members: Map::new(), key: None, merged: Vec::new() };
                self.begin(mapping, anchor, at)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(at),
            Event::Scalar(text, style, anchor, tag) => {
                let before = (self.values, self.bytes);
                self.count((1, text.len()), at)?;
                let value = self.scalar(&text, style, tag.as_deref());
                self.keep(anchor, &value, before).map_err(|()| too_much(at))?;
                self.place(value, at)
            }
            Event::Alias(anchor) => self.alias(anchor, at),
        }
    }

    fn begin(&mut self, open: Open, anchor: usize, at: Marker) -> Result<(), Fault> {
        if self.open.len() >= MOST_DEPTH {
            return Err(fault(&format!("the document is nested deeper than {MOST_DEPTH} levels"), at));
        }
        let before = (self.values, self.bytes);
        self.count((1, 0), at)?;
        self.open.push((open, anchor, before));
        Ok(())
    }

    fn end(&mut self, at: Marker) -> Result<(), Fault> {
        let Some((open, anchor, before)) = self.open.pop() else { return Ok(()) };
        let value = match open {
            Open::Sequence(items) => Value::Array(items),
            Open::Mapping { mut members, merged, .. } => {
                for more in merged {
                    merge(&mut members, more);
                }
                Value::Object(members)
            }
        };
        self.keep(anchor, &value, before).map_err(|()| too_much(at))?;
        self.place(value, at)
    }

    fn alias(&mut self, anchor: usize, at: Marker) -> Result<(), Fault> {
        let Some(Anchored { value, values, bytes }) = self.anchors.get(&anchor) else {
            return Err(fault("an alias refers to the value that it stands in", at));
        };
        let (values, bytes) = (*values, *bytes);
        // Before it is copied: a few lines of aliases can stand for more than any memory holds.
        if self.values + values > MOST_VALUES || self.bytes + bytes > MOST_BYTES {
            return Err(too_much(at));
        }
        let copy = value.clone();
        self.count((values, bytes), at)?;
        self.place(copy, at)
    }

    fn count(&mut self, (values, bytes): (usize, usize), at: Marker) -> Result<(), Fault> {
        self.values += values;
        self.bytes += bytes;
        if self.values > MOST_VALUES || self.bytes > MOST_BYTES { Err(too_much(at)) } else { Ok(()) }
    }

    fn scalar(&self, text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
        let is_key = matches!(self.open.last(), Some((Open::Mapping { key: None, .. }, ..)));
        match tag.filter(|tag| tag.is_yaml_core_schema()) {
            // Keys are texts, as in JSON: `200:` and `"200":` are the same.
            _ if is_key => Value::String(text.to_owned()),
            Some(tag) => tagged_value(text, &tag.suffix),
            None if style == ScalarStyle::Plain => plain_value(text),
            None => Value::String(text.to_owned()),
        }
    }

    /// Keeps a value that has an anchor. Collections in one another may each have one, so that what is kept is counted too.
    fn keep(&mut self, anchor: usize, value: &Value, before: (usize, usize)) -> Result<(), ()> {
        if anchor == 0 {
            return Ok(());
        }
        let (values, bytes) = (self.values - before.0, self.bytes - before.1);
        self.kept += values;
        if self.kept > MOST_VALUES {
            return Err(());
        }
        self.anchors.insert(anchor, Anchored { value: value.clone(), values, bytes });
        Ok(())
    }

    /// Puts a value into the collection that is open.
    fn place(&mut self, value: Value, at: Marker) -> Result<(), Fault> {
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some((Open::Sequence(items), ..)) => items.push(value),
            Some((Open::Mapping { members, key, merged }, ..)) => match (key.take(), value) {
                (Some(name), value) if name == MERGE && is_mergeable(&value) => merged.push(value),
                (Some(name), value) => drop(members.insert(name, value)),
                (None, Value::String(name)) => *key = Some(name),
                (None, _) => return Err(fault("a key is not a text", at)),
            },
        }
        Ok(())
    }
}

fn too_much(at: Marker) -> Fault {
    fault(&format!("the document has more than {MOST_VALUES} values or {MOST_BYTES} bytes of text"), at)
}

fn is_mergeable(value: &Value) -> bool {
    value.is_object() || value.as_array().is_some_and(|items| items.iter().all(Value::is_object))
}

/// Adds the members of one mapping, or of several, which those that are there override.
fn merge(members: &mut Map<String, Value>, more: Value) {
    match more {
        Value::Object(more) => {
            for (name, value) in more {
                members.entry(name).or_insert(value);
            }
        }
        Value::Array(items) => items.into_iter().for_each(|item| merge(members, item)),
        _ => {}
    }
}

/// Follows the events with the path that they are at.
struct Locator<'a> {
    path: String,
    open: Vec<OpenPlace>,
    wanted: &'a mut HashMap<String, (usize, usize)>,
}

/// A collection that is not closed yet: the length of its own path, and where in it the reader is.
struct OpenPlace {
    length: usize,
    place: Place,
}

enum Place {
    Item(usize),
    Key,
    Member,
}

impl Locator<'_> {
    fn take(&mut self, event: &Event<'_>, at: Marker) {
        match event {
            Event::Scalar(text, ..) => match self.open.last_mut() {
                Some(OpenPlace { place, .. }) if matches!(place, Place::Key) => {
                    *place = Place::Member;
                    self.path.push_str(&member_step(text));
                }
                _ => {
                    self.enter(at);
                    self.leave();
                }
            },
            Event::Alias(_) => {
                self.enter(at);
                self.leave();
            }
            Event::SequenceStart(..) => self.begin(at, Place::Item(0)),
            Event::MappingStart(..) => self.begin(at, Place::Key),
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
                self.leave();
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
    }

    /// A value begins: the path is made that of the value.
    fn enter(&mut self, at: Marker) {
        if let Some(OpenPlace { place: Place::Item(index), .. }) = self.open.last() {
            self.path.extend(["[", &index.to_string(), "]"]);
        }
        if let Some(found) = self.wanted.get_mut(&self.path) {
            *found = (at.line(), at.col() + 1);
        }
    }

    fn begin(&mut self, at: Marker, place: Place) {
        self.enter(at);
        self.open.push(OpenPlace { length: self.path.len(), place });
    }

    /// A value has ended: the path is that of the collection again.
    fn leave(&mut self) {
        let Some(open) = self.open.last_mut() else { return };
        self.path.truncate(open.length);
        open.place = match open.place {
            Place::Item(index) => Place::Item(index + 1),
            Place::Key | Place::Member => Place::Key,
        };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expect: Value) {
        assert_eq!(read_yaml(text).unwrap_or_else(|fault| panic!("{text}: {fault}")), expect, "{text}");
    }

    #[test]
    fn yaml_reads_as_json() {
        check("a: 1\nb: [x, 2.5, true, ~]\nc: {d: '1', e: \"\\u00e9\"}", {
            json!({ "a": 1, "b": ["x", 2.5, true, null], "c": { "d": "1", "e": "é" } })
        });
        check("200: ok\ntrue: yes\nversion: 2020-01-01", {
            json!({ "200": "ok", "true": "yes", "version": "2020-01-01" })
        });
        check("a: |\n  one\n  two\nb: !!str 7", json!({ "a": "one\ntwo\n", "b": "7" }));
        check("base: &b {x: 1, y: 2}\nall: {<<: *b, y: 3}\nmore: {<<: [*b, {z: 4}]}", {
            json!({ "base": { "x": 1, "y": 2 }, "all": { "y": 3, "x": 1 }, "more": { "x": 1, "y": 2, "z": 4 } })
        });
        check("{\"json\": [1, {\"is\": null}]}", json!({ "json": [1, { "is": null }] }));
    }

    fn refused(text: &str) -> String {
        read_yaml(text).expect_err("refused").to_string()
    }

    #[test]
    fn what_is_no_document_is_refused_with_its_place() {
        assert!(refused("a: [1\nb: 2").starts_with("2:"), "{}", refused("a: [1\nb: 2"));
        assert_eq!(refused("a: &x\n  - *x"), "2:5: an alias refers to the value that it stands in at `$`");
        assert!(refused("a: *nowhere").contains("not YAML"));
        assert!(refused("a: 1\n---\nb: 2").contains("more than one"));
        assert!(refused("[1]: 2").contains("a key is not a text"));
        assert!(refused(&"[".repeat(500)).contains("recursion limit"));
        let deep = (0..500).map(|level| " ".repeat(level) + "a:\n").collect::<Vec<_>>().concat();
        assert!(refused(&deep).contains("deeper than"));
        assert!(refused("").contains("no YAML document"));
    }

    #[test]
    fn aliases_that_multiply_are_refused_before_they_are_expanded() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..30 {
            let items = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb.extend([format!("a{level}: &a{level} [{items}]\n")]);
        }
        assert!(refused(&bomb).contains("more than"));
    }

    #[test]
    fn values_are_found_by_their_path() {
        let text = "openapi: 3.1.0\npaths:\n  /a b:\n    get:\n      tags: [x, y]\n  '/c':\n    - one\n    - two: 2\n";
        for (path, expect) in [
            ("$", (1, 1)),
            ("$.paths[\"/a b\"]", (4, 5)),
            ("$.paths[\"/a b\"].get.tags[1]", (5, 17)),
            ("$.paths[\"/c\"][1].two", (8, 12)),
        ] {
            let mut wanted = HashMap::from([(path.to_owned(), (0, 0))]);
            locate_in_yaml(text, &mut wanted);
            assert_eq!(wanted[path], expect, "{path}");
        }
    }
}
