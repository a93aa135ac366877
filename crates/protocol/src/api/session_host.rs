//! Session hosts: the process that keeps sessions which no terminal holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RunPhase;
use crate::{SessionId, SessionOptions, Timestamp};

/// A session to resume or to fork.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReopenSessionParams {
    /// The session.
    pub session: SessionId,
    /// What changes.
    #[serde(default)]
    pub options: SessionOptions,
}

/// A session host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostView {
    /// Its process.
    pub pid: u32,
    /// Its version of Bosun.
    pub version: String,
    /// The program that it runs.
    pub program: ProgramFile,
    /// When it started.
    pub started_at: Timestamp,
    /// The address of its HTTP server, if it has one.
    pub url: Option<String>,
    /// The sessions that it keeps.
    pub sessions: Vec<HeldSessionView>,
    /// Sessions of an earlier host that could not be resumed, and why.
    pub not_adopted: Vec<NotAdopted>,
}

/// The file of a running program. A file that replaces it has another inode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgramFile {
    /// Its path when it was started.
    pub path: String,
    /// The device of the file.
    pub device: u64,
    /// The inode of the file.
    pub inode: u64,
}

/// A session that a host keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldSessionView {
    /// The session.
    pub id: SessionId,
    /// What it does now.
    pub phase: RunPhase,
}

/// A session of an earlier host that could not be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotAdopted {
    /// The session.
    pub id: SessionId,
    /// Why.
    pub why: String,
}

/// What a host that hands over leaves to the next one, besides its sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandOver {
    /// Its HTTP server, if it has one.
    pub http: Option<HttpEndpoint>,
}

/// An HTTP server of a host.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpEndpoint {
    /// The local port.
    pub port: u16,
    /// The token that clients send.
    pub token: String,
    /// The file that contains the token, if there is one.
    pub token_file: Option<String>,
}

impl HttpEndpoint {
    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl std::fmt::Debug for HttpEndpoint {
    /// Does not show the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpEndpoint").field("port", &self.port).finish_non_exhaustive()
    }
}
