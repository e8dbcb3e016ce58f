//! The names of notifications: what servers tell their clients, and clients their servers.

/// A client does not wait for an answer any more.
pub(super) const CANCELLED: &str = "notifications/cancelled";
/// A client of the handshake era has read the answer to `initialize`.
pub(super) const INITIALIZED: &str = "notifications/initialized";

pub(super) const PROGRESS: &str = "notifications/progress";
/// A log line.
pub(super) const MESSAGE: &str = "notifications/message";

pub(super) const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
pub(super) const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
pub(super) const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
/// One resource changed that somebody subscribed to.
pub(super) const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// What a subscription of 2026-07-28 will tell of.
pub(super) const SUBSCRIPTION_ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// How a task is now.
pub(super) const TASK: &str = "notifications/tasks";
