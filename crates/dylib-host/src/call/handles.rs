//! Objects of the library that callers hold: a number outside, an address only in here.

use std::collections::HashMap;

use crate::fault::{CallError, CallFault};

/// A kind of object, by its place in the list of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Tag(usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Object {
    tag: Tag,
    address: usize,
}

/// What is open. A handle is `generation << 32 | id`; ids are never used twice, 0 is NULL.
#[derive(Debug)]
pub(super) struct Handles {
    generation: u32,
    limit: usize,
    last: u32,
    tags: Vec<String>,
    open: HashMap<u32, Object>,
    ids: HashMap<Object, u32>,
}

impl Handles {
    pub(super) fn new(generation: u32, limit: usize) -> Self {
        Self { generation, limit, last: 0, tags: Vec::new(), open: HashMap::new(), ids: HashMap::new() }
    }

    /// The tag of that name, made if it is new.
    pub(super) fn tag(&mut self, name: &str) -> Tag {
        let known = self.tags.iter().position(|tag| tag == name);
        Tag(known.unwrap_or_else(|| {
            self.tags.push(name.to_owned());
            self.tags.len() - 1
        }))
    }

    /// The address behind a handle.
    pub(super) fn address(&self, tag: Tag, handle: u64) -> Result<usize, CallError> {
        if handle == 0 {
            return Ok(0);
        }
        let object = self.open.get(&(handle as u32)).filter(|_| self.is_ours(handle));
        match object {
            Some(object) if object.tag == tag => Ok(object.address),
            Some(object) => Err(self.bad(handle, tag, &format!("is a `{}`", self.tags[object.tag.0]))),
            None if self.is_ours(handle) => Err(self.bad(handle, tag, "is not open")),
            None => Err(self.bad(handle, tag, "was lost when the library was restarted")),
        }
    }

    /// Fails if `count` more objects might not fit.
    pub(super) fn make_room(&self, count: usize) -> Result<(), CallError> {
        if self.open.len() + count <= self.limit && self.last.checked_add(count as u32).is_some() {
            return Ok(());
        }
        Err(CallFault::TooManyHandles
            .because(format!("{} objects are open, close some first", self.open.len())))
    }

    /// A handle for an object that the library returned. An object that is open already keeps its handle.
    pub(super) fn open(&mut self, tag: Tag, address: usize) -> u64 {
        if address == 0 {
            return 0;
        }
        let object = Object { tag, address };
        let id = *self.ids.entry(object).or_insert_with(|| {
            self.last += 1;
            self.open.insert(self.last, object);
            self.last
        });
        u64::from(self.generation) << 32 | u64::from(id)
    }

    /// A place in time: what is opened later can be forgotten.
    pub(super) fn mark(&self) -> u32 {
        self.last
    }

    /// Forgets the objects that were opened since then. Nobody was told of them, so that nobody could close them.
    pub(super) fn forget_since(&mut self, mark: u32) {
        for id in mark + 1..=self.last {
            if let Some(object) = self.open.remove(&id) {
                self.ids.remove(&object);
            }
        }
    }

    /// Forgets an object that the library was told to close.
    pub(super) fn close(&mut self, tag: Tag, address: usize) {
        if let Some(id) = self.ids.remove(&Object { tag, address }) {
            self.open.remove(&id);
        }
    }

    fn is_ours(&self, handle: u64) -> bool {
        handle >> 32 == u64::from(self.generation)
    }

    fn bad(&self, handle: u64, tag: Tag, what: &str) -> CallError {
        let (generation, id) = (handle >> 32, handle as u32);
        CallFault::BadHandle.because(format!("the handle `{}#{generation}.{id}` {what}", self.tags[tag.0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_leads_to_its_object_until_it_is_closed() {
        let mut handles = Handles::new(3, 10);
        let tag = handles.tag("db");
        let handle = handles.open(tag, 0x1000);
        assert_eq!(handle, 3 << 32 | 1);
        assert_eq!(handles.address(tag, handle), Ok(0x1000));
        assert_eq!(handles.open(tag, 0x1000), handle);
        handles.close(tag, 0x1000);
        let error = handles.address(tag, handle).unwrap_err();
        assert_eq!(error.text, "the handle `db#3.1` is not open");
        assert_ne!(handles.open(tag, 0x1000), handle);
    }

    #[test]
    fn other_kinds_and_generations_are_refused() {
        let mut handles = Handles::new(3, 10);
        let (db, statement) = (handles.tag("db"), handles.tag("statement"));
        let handle = handles.open(db, 0x1000);
        let error = handles.address(statement, handle).unwrap_err();
        assert_eq!(error, CallFault::BadHandle.because("the handle `statement#3.1` is a `db`"));
        let error = handles.address(db, 2 << 32 | 1).unwrap_err();
        assert_eq!(error.text, "the handle `db#2.1` was lost when the library was restarted");
    }

    #[test]
    fn what_nobody_was_told_of_is_forgotten() {
        let mut handles = Handles::new(1, 2);
        let tag = handles.tag("db");
        let kept = handles.open(tag, 0x1000);
        let mark = handles.mark();
        handles.open(tag, 0x1000);
        let untold = handles.open(tag, 0x2000);
        handles.forget_since(mark);
        assert_eq!(handles.address(tag, kept), Ok(0x1000));
        assert!(handles.address(tag, untold).is_err());
        assert_eq!(handles.make_room(1), Ok(()));
    }

    #[test]
    fn null_is_a_handle_of_every_kind() {
        let mut handles = Handles::new(1, 10);
        let tag = handles.tag("db");
        assert_eq!(handles.open(tag, 0), 0);
        assert_eq!(handles.address(tag, 0), Ok(0));
    }

    #[test]
    fn the_limit_holds() {
        let mut handles = Handles::new(1, 2);
        let tag = handles.tag("db");
        assert_eq!(handles.make_room(2), Ok(()));
        handles.open(tag, 0x1000);
        assert_eq!(handles.make_room(2).unwrap_err().fault, CallFault::TooManyHandles);
    }
}
