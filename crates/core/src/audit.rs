//! Who did what, when: the record that stays when everything else is pruned. Never arguments, never secrets.

use std::time::SystemTime;

/// What was done that somebody may ask about later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditAction {
    /// A caller asked for what is not theirs.
    CallRefused,
    /// The configuration was read again and taken.
    ConfigReloaded,
    /// Every source was made anew.
    SourcesReset,
    /// One source was made anew.
    SourceRestarted,
    /// A user allowed a token.
    GrantCreated,
    /// A token was forgotten.
    GrantRevoked,
    /// A task was cancelled.
    TaskCancelled,
    /// A key was added to those in the store.
    KeyAdded,
    /// A key in the store was revoked.
    KeyRevoked,
    /// An operator called a tool from the console.
    ConsoleCall,
    /// An operator signed in to the console.
    ConsoleSignedIn,
    /// An operator signed out of the console.
    ConsoleSignedOut,
}

impl AuditAction {
    pub(crate) const ALL: [AuditAction; 12] = [
        AuditAction::CallRefused,
        AuditAction::ConfigReloaded,
        AuditAction::SourcesReset,
        AuditAction::SourceRestarted,
        AuditAction::GrantCreated,
        AuditAction::GrantRevoked,
        AuditAction::TaskCancelled,
        AuditAction::KeyAdded,
        AuditAction::KeyRevoked,
        AuditAction::ConsoleCall,
        AuditAction::ConsoleSignedIn,
        AuditAction::ConsoleSignedOut,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            AuditAction::CallRefused => "call.refused",
            AuditAction::ConfigReloaded => "config.reloaded",
            AuditAction::SourcesReset => "sources.reset",
            AuditAction::SourceRestarted => "source.restarted",
            AuditAction::GrantCreated => "grant.created",
            AuditAction::GrantRevoked => "grant.revoked",
            AuditAction::TaskCancelled => "task.cancelled",
            AuditAction::KeyAdded => "key.added",
            AuditAction::KeyRevoked => "key.revoked",
            AuditAction::ConsoleCall => "console.call",
            AuditAction::ConsoleSignedIn => "console.signed_in",
            AuditAction::ConsoleSignedOut => "console.signed_out",
        }
    }

    /// Reads the word.
    pub fn read(word: &str) -> Option<Self> {
        AuditAction::ALL.into_iter().find(|action| action.as_str() == word)
    }
}

/// The longest subject that is kept, in bytes: names in it may be a caller's to choose.
const LONGEST_SUBJECT: usize = 1 << 10;

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// When it was done.
    pub at: SystemTime,
    /// By whom: the name of a caller; empty for the server itself.
    pub caller: Box<str>,
    /// What was done.
    pub action: AuditAction,
    /// To what: a tool and the reason, a task, a provider and its user.
    pub subject: Box<str>,
}

impl AuditRecord {
    /// Something done now. A subject that is too long is cut.
    pub fn now(caller: &str, action: AuditAction, subject: impl Into<Box<str>>) -> Self {
        let mut subject = subject.into();
        if subject.len() > LONGEST_SUBJECT {
            subject = subject[..subject.floor_char_boundary(LONGEST_SUBJECT)].into();
        }
        AuditRecord { at: SystemTime::now(), caller: caller.into(), action, subject }
    }
}
