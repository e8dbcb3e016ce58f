//! JSON values as the validator sees them: every look at one is counted, and once the work is used up all containers
//! and texts look empty, so that validation comes to its end at once whatever the schema says.
//!
//! The validator builds all errors of every alternative before it reports one. Each error asks for the value it is
//! about, which is where errors are counted too.

use std::borrow::Cow;
use std::cell::Cell;
use std::slice;

use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, cmp, unique};
use jsonschema::types::JsonType;
use serde_json::{Map, Number, Value, map};

use super::preview::{preview, unknown};

/// How many bytes of a text are looked at for one unit of work.
const BYTES_PER_UNIT: usize = 64;
/// The same where a part of a text may be looked at again and again: the cost is the square of so many pieces. It ends
/// at texts of some 130 KB.
const ANCHORED_BYTES_PER_UNIT: usize = 128;
/// The same where all of it may be: it ends at texts of some 2 KB, which is longer than what such patterns are for.
const BACKTRACKING_BYTES_PER_UNIT: usize = 2;
/// What the index of an item adds to a path.
const INDEX_BYTES: usize = 8;
/// How many schemas may be checked one inside the other, over all levels of a value: a thread of the runtime has two
/// megabytes of stack, and one of them takes less than four kilobytes when nothing is optimised.
const MOST_FRAMES: usize = 400;
/// What one error takes in memory besides the path to its value, in bytes.
const ERROR_BYTES: usize = 512;

/// The kind of value that the validator reads.
pub(super) struct Metered;

/// What one run of the validator may cost.
#[derive(Debug)]
pub(super) struct Meter {
    /// Looks at values that are left.
    work: Cell<usize>,
    /// Bytes of errors that are left.
    errors: Cell<usize>,
    costs: SchemaCosts,
}

/// What a schema says of the cost of checking against it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SchemaCosts {
    /// How deep a value may lie: each schema in a row takes room on the stack, and so does each level of values.
    pub(super) depth: usize,
    /// How long its text is; some errors hold a copy of a part of it.
    pub(super) bytes: usize,
    /// How its patterns are matched.
    pub(super) patterns: Patterns,
}

/// How the patterns of a schema are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patterns {
    /// In linear time.
    Linear,
    /// Some look around or back, but only from the beginning of a text.
    Anchored,
    /// Some look around or back from everywhere: each place of a text may be compared with all that follows.
    Backtracking,
}

/// One value whose reading is counted.
#[derive(Clone, Copy)]
pub(super) struct Measured<'a> {
    value: &'a Value,
    /// None for the name of a property, which the validator makes a value of itself.
    meter: Option<&'a Meter>,
    /// How long the path to the value is.
    path: usize,
    depth: usize,
}

impl Meter {
    pub(super) fn new(work: usize, error_bytes: usize, costs: SchemaCosts) -> Self {
        Meter { work: Cell::new(work), errors: Cell::new(error_bytes), costs }
    }

    /// How deep a value may lie so that checking it fits the stack of a thread.
    pub(super) fn depth_within_stack(row: usize) -> usize {
        MOST_FRAMES / (row + 1)
    }

    /// True once something was used up: what the run said since then means nothing.
    pub(super) fn is_used_up(&self) -> bool {
        self.work.get() == 0
    }

    /// True when it was the errors that were too many, not the work.
    pub(super) fn is_full_of_errors(&self) -> bool {
        self.errors.get() == 0
    }

    fn spend(&self, units: usize) -> bool {
        let left = self.work.get().saturating_sub(units);
        self.work.set(left);
        left > 0
    }

    /// Counts an error; true when there is room for it.
    fn report(&self, path: usize) -> bool {
        if self.is_used_up() {
            return false;
        }
        let left = self.errors.get().saturating_sub(ERROR_BYTES + self.costs.bytes + path);
        self.errors.set(left);
        if left == 0 {
            self.work.set(0);
        }
        true
    }

    /// What a text costs that may be matched with a pattern.
    fn of_text(&self, bytes: usize) -> usize {
        let squared = |bytes: usize| bytes.saturating_mul(bytes);
        1 + match self.costs.patterns {
            Patterns::Linear => bytes / BYTES_PER_UNIT,
            Patterns::Anchored => squared(bytes / ANCHORED_BYTES_PER_UNIT),
            Patterns::Backtracking => squared(bytes / BACKTRACKING_BYTES_PER_UNIT),
        }
    }
}

impl<'a> Measured<'a> {
    pub(super) fn new(value: &'a Value, meter: &'a Meter) -> Self {
        Measured { value, meter: Some(meter), path: 0, depth: 0 }
    }

    fn spend(&self, units: usize) -> bool {
        self.meter.is_none_or(|meter| meter.spend(units))
    }

    fn below(&self, value: &'a Value, key: usize) -> Self {
        Measured { value, meter: self.meter, path: self.path + key, depth: self.depth + 1 }
    }

    /// True when what is inside may be looked at.
    fn open(&self) -> bool {
        self.meter.is_none_or(|meter| {
            // Nothing deeper is looked at, and the run ends.
            let units = if self.depth < meter.costs.depth { 1 } else { usize::MAX };
            meter.spend(units)
        })
    }

    fn text(&self) -> Option<&'a str> {
        let text = self.value.as_str()?;
        let affordable = self.meter.is_none_or(|meter| meter.spend(meter.of_text(text.len())));
        Some(if affordable { text } else { "" })
    }
}

impl Json for Metered {
    type Node<'a> = Measured<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(Measured<'_>) -> T) -> T {
        // One text for the names of all properties.
        if let Value::String(text) = buffer {
            text.clear();
            text.push_str(string);
        } else {
            *buffer = Value::from(string);
        }
        f(Measured { value: buffer, meter: None, path: 0, depth: 0 })
    }
}

impl<'a> Node<'a, Metered> for Measured<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Members<'a>> {
        let members = self.value.as_object()?;
        Some(Members { node: *self, members: self.open().then_some(members) })
    }

    fn as_array(&self) -> Option<Items<'a>> {
        let items = self.value.as_array()?;
        Some(Items { node: *self, items: if self.open() { items } else { &[] } })
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.text().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        self.spend(1);
        match self.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        self.spend(1);
        self.value.as_bool()
    }

    fn is_null(&self) -> bool {
        self.spend(1);
        self.value.is_null()
    }

    fn json_type(&self) -> JsonType {
        self.spend(1);
        match self.value {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        // Comparing ends at the first difference, so that the shorter of the two is what it costs.
        let bytes = self.value.as_str().map_or(0, str::len).min(expected.as_str().map_or(0, str::len));
        self.spend(1 + bytes / BYTES_PER_UNIT) && cmp::equal(self.value, expected)
    }

    /// Only errors ask for it: comparing values is done without.
    fn to_value(&self) -> Cow<'a, Value> {
        match self.meter {
            Some(meter) if !meter.report(self.path) => Cow::Owned(unknown()),
            // The error of a pattern that backtracks too much looks into the whole.
            Some(meter) if self.path == 0 && meter.costs.patterns != Patterns::Linear => {
                Cow::Borrowed(self.value)
            }
            _ => preview(self.value),
        }
    }

    fn identity(&self) -> Option<NodeIdentity> {
        self.spend(1);
        Some(NodeIdentity::new(std::ptr::from_ref::<Value>(self.value) as usize))
    }
}

/// The members of an object; none when the work is used up.
pub(super) struct Members<'a> {
    node: Measured<'a>,
    members: Option<&'a Map<String, Value>>,
}

impl<'a> Object<'a, Metered> for Members<'a> {
    type Node = Measured<'a>;
    type MemberName = &'a str;
    type MembersIter = EachMember<'a>;

    fn len(&self) -> usize {
        self.members.map_or(0, Map::len)
    }

    fn get(&self, key: &String) -> Option<Measured<'a>> {
        let value = self.members?.get(key.as_str())?;
        self.node.spend(1).then(|| self.node.below(value, key.len() + 1))
    }

    fn members(&self) -> EachMember<'a> {
        EachMember { node: self.node, members: self.members.map(Map::iter) }
    }
}

/// One member after the other, until the work is used up.
pub(super) struct EachMember<'a> {
    node: Measured<'a>,
    members: Option<map::Iter<'a>>,
}

impl<'a> Iterator for EachMember<'a> {
    type Item = (&'a str, Measured<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.members.as_mut()?.next()?;
        let cost = self.node.meter.map_or(0, |meter| meter.of_text(name.len()));
        let affordable = self.node.spend(cost);
        affordable.then(|| (name.as_str(), self.node.below(value, name.len() + 1)))
    }
}

/// The items of an array; none when the work is used up.
pub(super) struct Items<'a> {
    node: Measured<'a>,
    items: &'a [Value],
}

impl<'a> Array<'a, Metered> for Items<'a> {
    type Node = Measured<'a>;
    type ElementsIter = EachItem<'a>;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn elements(&self) -> EachItem<'a> {
        EachItem { node: self.node, items: self.items.iter() }
    }

    fn is_unique(&self) -> bool {
        self.node.spend(1 + self.items.len()) && unique::is_unique(self.items)
    }
}

/// One item after the other, until the work is used up.
pub(super) struct EachItem<'a> {
    node: Measured<'a>,
    items: slice::Iter<'a, Value>,
}

impl<'a> Iterator for EachItem<'a> {
    type Item = Measured<'a>;

    fn next(&mut self) -> Option<Measured<'a>> {
        let value = self.items.next()?;
        self.node.spend(1).then(|| self.node.below(value, INDEX_BYTES))
    }
}
