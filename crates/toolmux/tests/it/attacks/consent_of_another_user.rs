//! Tokens that a user would give to somebody else without knowing it.
