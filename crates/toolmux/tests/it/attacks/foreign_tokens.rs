//! Tokens and identities of other users, taken by a caller.
