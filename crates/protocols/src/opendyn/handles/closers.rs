//! How an object is closed that its owner does not close: by the function whose description says that it closes
//! objects of that kind, if the handle is all it needs to be given.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use toolmux_dylib_host::plan::Pass;

use crate::opendyn::carrier::Carrier;
use crate::opendyn::plan::{Feed, Planned};
use crate::opendyn::supervise::Job;

/// The closing functions of a document, by the kind of object.
pub(in crate::opendyn) struct Closers(HashMap<String, Closer>);

struct Closer {
    function: u16,
    /// The values of CALL before and after the handle.
    before: Vec<u8>,
    after: Vec<u8>,
    timeout: Option<Duration>,
}

impl Closers {
    pub(in crate::opendyn) fn new(functions: &[Planned]) -> Self {
        let mut closers = HashMap::new();
        for (index, planned) in functions.iter().enumerate() {
            if let Some((tag, closer)) = closer(index, planned) {
                closers.entry(tag).or_insert(closer);
            }
        }
        Closers(closers)
    }

    /// The kinds of objects that can be closed.
    pub(in crate::opendyn) fn kinds(&self) -> HashSet<String> {
        self.0.keys().cloned().collect()
    }

    /// The call that closes an object; `limit` holds where the document says nothing.
    pub(super) fn job(&self, tag: &str, word: u64, limit: Duration) -> Option<Job> {
        let closer = self.0.get(tag)?;
        let values = [&closer.before[..], &word.to_le_bytes(), &closer.after].concat();
        let limit = closer.timeout.unwrap_or(limit);
        Some(Job { function: closer.function, values, limit, ticket: None })
    }
}

/// What a function closes, if it can be called with that alone and opens nothing.
fn closer(index: usize, planned: &Planned) -> Option<(String, Closer)> {
    let mut handle = None;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for feed in &planned.feeds {
        let bytes = match feed {
            Feed::Fixed(bytes) => bytes,
            Feed::Input(at) => match &planned.inputs[*at] {
                input if input.closes => {
                    let Carrier::Handle(tag) = &input.carrier else { return None };
                    if handle.replace(tag.clone()).is_some() {
                        return None;
                    }
                    continue;
                }
                input => input.absent.as_ref()?,
            },
        };
        let side = if handle.is_none() { &mut before } else { &mut after };
        side.extend_from_slice(bytes);
    }
    let function = u16::try_from(index).ok().filter(|_| planned.opens == 0)?;
    Some((handle?, Closer { function, before, after, timeout: planned.timeout }))
}

/// The names of the functions that close what a function opens.
pub(in crate::opendyn) fn closing<'a>(functions: &'a [Planned], opening: &Planned) -> Vec<&'a str> {
    let opened: Vec<&str> = opening.opened_kinds().collect();
    let closes = |pass: &Pass| matches!(pass, Pass::Handle { tag, closes: true } if opened.contains(&&**tag));
    let closing = functions
        .iter()
        .filter(|planned| planned.function.parameters.iter().any(|parameter| closes(&parameter.pass)));
    closing.map(|planned| planned.name.as_str()).collect()
}
