//! Handles of C libraries, sessions, tasks and results that belong to another caller.
