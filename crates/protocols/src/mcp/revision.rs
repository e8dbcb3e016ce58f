//! The revisions of MCP that we speak, and their two eras.

/// A revision, by its date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Revision {
    /// The only stateless one.
    pub(super) const MODERN: Revision = Revision::V2026_07_28;
    /// The newest with a handshake.
    pub(super) const LEGACY: Revision = Revision::V2025_11_25;
    /// What a legacy request over HTTP without a version header means.
    pub(super) const UNSAID: Revision = Revision::V2025_03_26;

    const ALL: [Revision; 5] = [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];

    pub(super) fn read(text: &str) -> Option<Self> {
        Revision::ALL.into_iter().find(|revision| revision.text() == text)
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// Stateless: everything stands in each request.
    pub(super) fn is_modern(self) -> bool {
        self == Revision::MODERN
    }

    /// One revision has several messages in one array.
    pub(super) fn has_batches(self) -> bool {
        self == Revision::V2025_03_26
    }

    /// One revision has tasks as a part of the protocol; later they are an extension.
    pub(super) fn has_tasks(self) -> bool {
        self == Revision::V2025_11_25
    }

    /// What we answer to `initialize`: the revision asked, or the newest we have for that handshake.
    pub(super) fn negotiated(asked: &str) -> Self {
        Revision::read(asked).filter(|revision| !revision.is_modern()).unwrap_or(Revision::LEGACY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(asked: &str, expect: &str) {
        assert_eq!(Revision::negotiated(asked).text(), expect);
    }

    #[test]
    fn a_handshake_gets_the_revision_it_asks_for_or_the_newest_that_has_one() {
        check("2024-11-05", "2024-11-05");
        check("2025-06-18", "2025-06-18");
        check("1999-01-01", "2025-11-25");
        check("2026-07-28", "2025-11-25");
    }
}
