//! What is known of a method before a request is answered. The methods themselves stand in `mcp/methods.rs`.

use std::ops::RangeInclusive;

use crate::mcp::revision::Revision;

#[derive(Debug)]
pub(in crate::mcp) struct Method {
    pub(in crate::mcp) name: &'static str,
    /// The revisions that have it.
    pub(in crate::mcp) revisions: RangeInclusive<Revision>,
    pub(in crate::mcp) opens: Opens,
    pub(in crate::mcp) target: Target,
    pub(in crate::mcp) streams: Streams,
    /// What some source must offer, or else the method is not available.
    pub(in crate::mcp) needs: Option<Capability>,
}

/// What a request begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum Opens {
    /// Nothing: the era is known from what the request carries.
    Nothing,
    /// A session of the handshake era.
    Session,
    /// A client's questions about what we speak: of the stateless revision, even if the request does not say so.
    Discovery,
}

/// What a request is about. Since 2026-07-28 its name or address is repeated in the header `Mcp-Name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum Target {
    Nothing,
    /// Known by `name`. Since 2026-07-28 some of its arguments are repeated in headers too.
    Tool,
    /// Known by `name`.
    Prompt,
    /// Known by `uri`.
    Resource,
    /// Known by `taskId`.
    Task,
}

/// Whether messages leave before the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum Streams {
    Never,
    /// When the client asked to be told of progress or logs. A client of the handshake era always did.
    WhenFollowed,
    Always,
    /// And the answer comes only when the connection or the server ends: nobody waits for it when a client leaves.
    UntilClosed,
}

/// What sources may have besides tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum Capability {
    Prompts,
    Resources,
    Subscriptions,
    Completions,
}

impl Method {
    /// A method whose request is about nothing in particular and answered by one message.
    pub(in crate::mcp) const fn new(name: &'static str, revisions: RangeInclusive<Revision>) -> Self {
        let (opens, target, streams) = (Opens::Nothing, Target::Nothing, Streams::Never);
        Method { name, revisions, opens, target, streams, needs: None }
    }

    pub(in crate::mcp) const fn opens(mut self, opens: Opens) -> Self {
        self.opens = opens;
        self
    }

    pub(in crate::mcp) const fn about(mut self, target: Target) -> Self {
        self.target = target;
        self
    }

    pub(in crate::mcp) const fn streams(mut self, streams: Streams) -> Self {
        self.streams = streams;
        self
    }

    pub(in crate::mcp) const fn needs(mut self, capability: Capability) -> Self {
        self.needs = Some(capability);
        self
    }
}
