//! Secrets in messages, logs, process listings and files.
