//! The revisions of the protocol that a server speaks, and the names of what they define.

/// The family of revisions that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedRevision {
    /// 2025-11-25 or older: a session that begins with `initialize`.
    Session,
    /// 2026-07-28: independent requests.
    Stateless,
}

/// The revisions with sessions, newest first.
pub(crate) const SESSION_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The revision without sessions.
pub(crate) const STATELESS_VERSION: &str = "2026-07-28";

/// The extension for calls that become tasks.
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The field of `_meta` with the revision of a request.
pub(crate) const VERSION_META: &str = "io.modelcontextprotocol/protocolVersion";

/// The field of `_meta` with what the client of a request can do.
pub(crate) const CAPABILITIES_META: &str = "io.modelcontextprotocol/clientCapabilities";

/// The field of `_meta` with the client's name and version.
pub(crate) const CLIENT_META: &str = "io.modelcontextprotocol/clientInfo";

/// The field of `_meta` with the least level of log messages that a request wants.
pub(crate) const LOG_LEVEL_META: &str = "io.modelcontextprotocol/logLevel";

/// The field of `_meta` with the server's name and version.
pub(crate) const SERVER_META: &str = "io.modelcontextprotocol/serverInfo";

/// The field of `_meta` with the subscription that a notification belongs to.
pub(crate) const SUBSCRIPTION_META: &str = "io.modelcontextprotocol/subscriptionId";

/// The field of `_meta` with the task that a message of 2025-11-25 belongs to.
pub(crate) const RELATED_TASK_META: &str = "io.modelcontextprotocol/related-task";

/// The revision for a client that asks for one with sessions: its own if it is known, otherwise the newest.
pub(crate) fn negotiate(requested: &str) -> &'static str {
    SESSION_VERSIONS.into_iter().find(|version| *version == requested).unwrap_or(SESSION_VERSIONS[0])
}

/// Whether sessions of this revision have tasks.
pub(crate) fn has_tasks(version: &str) -> bool {
    version == SESSION_VERSIONS[0]
}
