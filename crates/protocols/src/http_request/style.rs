//! How one argument is written into an address, a header or a form: the styles of OpenAPI 3.1, which are those of
//! RFC 6570.
//!
//! Where the two leave something open: `null` and empty arrays and objects are absent, as RFC 6570 has it; what lies
//! deeper than a style can say is written as JSON, by `deepObject` with more brackets; and what could not be told apart by
//! a reader, such as an item with the delimiter in it, is refused.

use std::fmt::Write;

use serde_json::value::RawValue;

use super::argument_text::{ObjectMembers, Shape, plain};
use super::escape::{Escape, Unsendable, check_header, check_path};
use super::operation::{OperationParameter, ParameterPlace, ParameterStyle};

/// The style of one parameter, ready to write.
#[derive(Clone, Debug)]
pub(super) struct WireStyle {
    /// The name, encoded.
    name: Vec<u8>,
    place: ParameterPlace,
    form: WireForm,
    explode: bool,
    /// What stands before a value in a path.
    first: &'static str,
    /// What stands between values that each stand for themselves.
    between: &'static str,
    /// What stands between those of one value.
    delimiter: &'static str,
    /// A character that an item must not have, because nothing would tell it from the delimiter.
    taken: Option<char>,
    /// The name stands before the value; this follows the name of an empty one.
    named: Option<&'static str>,
    plain_escape: Escape,
    item_escape: Escape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WireForm {
    Values,
    DeepObject,
    Json,
}

impl WireStyle {
    pub(super) fn of(parameter: &OperationParameter) -> Self {
        let OperationParameter { name, place, style, explode, allow_reserved, .. } = parameter;
        let allow_reserved = *allow_reserved && *place == ParameterPlace::Query;
        let style = possible(*style, *place);
        let (delimiter, taken) = delimiter(style, *place);
        let form = match style {
            ParameterStyle::DeepObject => WireForm::DeepObject,
            ParameterStyle::Json => WireForm::Json,
            _ => WireForm::Values,
        };
        let (first, between, named) = match (place, style) {
            (ParameterPlace::Path, ParameterStyle::Label) => (".", ".", None),
            (ParameterPlace::Path, ParameterStyle::Matrix) => (";", ";", Some("")),
            (ParameterPlace::Path | ParameterPlace::Header, _) => ("", ",", None),
            (ParameterPlace::Query, _) => ("", "&", Some("=")),
            (ParameterPlace::Cookie, _) => ("", "; ", Some("=")),
        };
        let (plain_escape, item_escape) = match (place, allow_reserved) {
            (ParameterPlace::Header, _) => (Escape::Nothing, Escape::Nothing),
            (_, true) if delimiter == "," && !explode => (Escape::Reserved, Escape::ReservedButComma),
            (_, true) => (Escape::Reserved, Escape::Reserved),
            _ if between == "." && *explode => (Escape::Unreserved, Escape::UnreservedButDot),
            _ => (Escape::Unreserved, Escape::Unreserved),
        };
        // Under a name of its own an item needs no delimiter.
        let taken = taken.filter(|_| !(*explode && named.is_some()));
        let mut encoded = Vec::with_capacity(name.len());
        Escape::Unreserved.push(name, &mut encoded);
        let (place, explode) = (*place, *explode);
        WireStyle {
            name: encoded,
            place,
            form,
            explode,
            first,
            between,
            delimiter,
            taken,
            named,
            plain_escape,
            item_escape,
        }
    }

    /// Appends a value after `lead`; nothing at all, which `false` says, for one that counts as absent.
    pub(super) fn write(&self, value: &RawValue, lead: &str, out: &mut Vec<u8>) -> Result<bool, Unsendable> {
        let begin = out.len();
        out.extend_from_slice(lead.as_bytes());
        let is_there = self.append(value, out)?;
        if !is_there {
            out.truncate(begin);
        }
        Ok(is_there)
    }

    fn append(&self, value: &RawValue, out: &mut Vec<u8>) -> Result<bool, Unsendable> {
        match (self.form, Shape::of(value)) {
            (WireForm::Json, _) => self.json(value, out).map(|()| true),
            (_, Shape::Null) => Ok(false),
            (_, Shape::Plain(text)) => {
                out.extend_from_slice(self.first.as_bytes());
                self.pair(&self.name, &text, self.plain_escape, out).map(|()| true)
            }
            (WireForm::DeepObject, Shape::Object(members)) => {
                let begin = out.len();
                self.deep(&mut self.name.clone(), &members, begin, out)?;
                Ok(out.len() > begin)
            }
            (_, Shape::List(items)) => self.list(&items, out),
            (_, Shape::Object(members)) => self.object(&members, out),
        }
    }

    fn list(&self, items: &[&RawValue], out: &mut Vec<u8>) -> Result<bool, Unsendable> {
        let mut texts = items.iter().filter_map(|item| plain(item)).peekable();
        if texts.peek().is_none() {
            return Ok(false);
        }
        out.extend_from_slice(self.first.as_bytes());
        if self.explode {
            for (index, text) in texts.enumerate() {
                separate(index, self.between, out);
                self.check_item(&text)?;
                self.pair(&self.name, &text, self.item_escape, out)?;
            }
            return Ok(true);
        }
        let begin = self.begin_joined(out);
        for (index, text) in texts.enumerate() {
            separate(index, self.delimiter, out);
            self.item(&text, out)?;
        }
        self.end_joined(begin, out);
        Ok(true)
    }

    fn object(&self, members: &ObjectMembers<'_>, out: &mut Vec<u8>) -> Result<bool, Unsendable> {
        let texts = members.0.iter().filter_map(|(name, value)| Some((name, plain(value)?)));
        let mut texts = texts.peekable();
        if texts.peek().is_none() {
            return Ok(false);
        }
        out.extend_from_slice(self.first.as_bytes());
        if self.explode {
            for (index, (name, text)) in texts.enumerate() {
                separate(index, self.between, out);
                self.member(name, &text, out)?;
            }
            return Ok(true);
        }
        let begin = self.begin_joined(out);
        for (index, (name, text)) in texts.enumerate() {
            separate(index, self.delimiter, out);
            self.item(name, out)?;
            out.extend_from_slice(self.delimiter.as_bytes());
            self.item(&text, out)?;
        }
        self.end_joined(begin, out);
        Ok(true)
    }

    /// `R=100`, which is the only form where a key stands before its value.
    fn member(&self, name: &str, text: &str, out: &mut Vec<u8>) -> Result<(), Unsendable> {
        if self.item_escape == Escape::Nothing && name.contains('=') {
            return Err("must not have a member whose name contains `=`: it is sent in a header".into());
        }
        if name.is_empty() && text.is_empty() {
            return Err("must not have a member without a name and a value".into());
        }
        self.item(name, out)?;
        match self.named {
            Some(empty) if text.is_empty() => out.extend_from_slice(empty.as_bytes()),
            _ => {
                out.push(b'=');
                self.item(text, out)?;
            }
        }
        Ok(())
    }

    fn pair(&self, name: &[u8], text: &str, escape: Escape, out: &mut Vec<u8>) -> Result<(), Unsendable> {
        match self.named {
            Some(empty) if text.is_empty() => {
                out.extend_from_slice(name);
                out.extend_from_slice(empty.as_bytes());
                return Ok(());
            }
            Some(_) => {
                out.extend_from_slice(name);
                out.push(b'=');
            }
            None => {}
        }
        self.text(text, escape, out)
    }

    fn deep(
        &self,
        name: &mut Vec<u8>,
        members: &ObjectMembers<'_>,
        begin: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsendable> {
        for (key, value) in &members.0 {
            if key.contains(['[', ']']) {
                return Err("must not have a member whose name contains `[` or `]`".into());
            }
            let length = name.len();
            name.extend_from_slice(b"%5B");
            Escape::Unreserved.push(key, name);
            name.extend_from_slice(b"%5D");
            match Shape::of(value) {
                Shape::Object(inner) => self.deep(name, &inner, begin, out)?,
                Shape::List(items) => {
                    for text in items.iter().filter_map(|item| plain(item)) {
                        separate(out.len() - begin, self.between, out);
                        self.pair(name, &text, self.item_escape, out)?;
                    }
                }
                Shape::Plain(text) => {
                    separate(out.len() - begin, self.between, out);
                    self.pair(name, &text, self.item_escape, out)?;
                }
                Shape::Null => {}
            }
            name.truncate(length);
        }
        Ok(())
    }

    fn json(&self, value: &RawValue, out: &mut Vec<u8>) -> Result<(), Unsendable> {
        let compact = compact_json(value.get());
        match self.place {
            ParameterPlace::Header => self.text(&ascii_json(&compact), Escape::Nothing, out),
            _ => self.pair(&self.name, &compact, self.plain_escape, out),
        }
    }

    /// One of several.
    fn item(&self, text: &str, out: &mut Vec<u8>) -> Result<(), Unsendable> {
        self.check_item(text)?;
        self.text(text, self.item_escape, out)
    }

    fn check_item(&self, text: &str) -> Result<(), Unsendable> {
        match self.taken {
            Some(taken) if text.contains(taken) => Err(format!(
                "must not have an item or a member that contains the character {taken:?}, which separates them"
            )
            .into()),
            _ => Ok(()),
        }
    }

    fn text(&self, text: &str, escape: Escape, out: &mut Vec<u8>) -> Result<(), Unsendable> {
        match self.place {
            ParameterPlace::Path => check_path(text)?,
            ParameterPlace::Header => check_header(text)?,
            ParameterPlace::Query | ParameterPlace::Cookie => {}
        }
        escape.push(text, out);
        Ok(())
    }

    fn begin_joined(&self, out: &mut Vec<u8>) -> usize {
        if self.named.is_some() {
            out.extend_from_slice(&self.name);
            out.push(b'=');
        }
        out.len()
    }

    /// Of an empty value there is only what follows its name.
    fn end_joined(&self, begin: usize, out: &mut Vec<u8>) {
        if self.named == Some("") && out.len() == begin {
            out.pop();
        }
    }
}

fn separate(index: usize, separator: &str, out: &mut Vec<u8>) {
    if index > 0 {
        out.extend_from_slice(separator.as_bytes());
    }
}

/// The style, or the default one where OpenAPI has none for the place.
fn possible(style: ParameterStyle, place: ParameterPlace) -> ParameterStyle {
    use ParameterStyle as Style;
    let is_possible = match style {
        Style::Label | Style::Matrix => place == ParameterPlace::Path,
        Style::DeepObject => place == ParameterPlace::Query,
        Style::SpaceDelimited | Style::PipeDelimited | Style::TabDelimited | Style::Json => true,
        Style::Simple | Style::Form => style == place.default_style(),
    };
    if is_possible { style } else { place.default_style() }
}

/// What stands between the items of one value, and the character that it stands for where no item may have it.
fn delimiter(style: ParameterStyle, place: ParameterPlace) -> (&'static str, Option<char>) {
    let in_header = place == ParameterPlace::Header;
    let (encoded, plain, character) = match style {
        ParameterStyle::SpaceDelimited => ("%20", " ", ' '),
        ParameterStyle::PipeDelimited => ("%7C", "|", '|'),
        ParameterStyle::TabDelimited => ("%09", "\t", '\t'),
        _ => return (",", in_header.then_some(',')),
    };
    (if in_header { plain } else { encoded }, Some(character))
}

/// The same JSON without white space between its values.
fn compact_json(text: &str) -> String {
    let (mut in_text, mut escaped) = (false, false);
    let is_kept = |character: &char| {
        match character {
            _ if std::mem::take(&mut escaped) => {}
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            ' ' | '\n' | '\r' | '\t' => return in_text,
            _ => {}
        }
        true
    };
    text.chars().filter(is_kept).collect()
}

/// The same JSON without a character outside of ASCII.
fn ascii_json(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            ascii.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a text does not fail.
                write!(ascii, "\\u{unit:04x}").ok();
            }
        }
    }
    ascii
}
