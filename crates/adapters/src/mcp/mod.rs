//! MCP servers: Bosun's agents as tools of other programs, and the protocol around any [`McpProvider`].
//!
//! Clients speak one of two families of revisions: 2025-11-25 and older, in which a session begins with `initialize`, or
//! 2026-07-28, in which every request says what its client can do. Both are served on the same address, over standard
//! input and output or over HTTP on loopback. Long calls become tasks in either form of the protocol. Everything that a
//! client sends is limited, and a client that does not read stops only its own requests.

mod agents;
mod client_profile;
mod fault;
mod http;
mod log_level;
mod message_sink;
mod provider;
mod request;
mod responder;
mod revision;
mod session;
mod session_methods;
mod stateless_methods;
mod stdio;
mod task_form;

pub use agents::{AgentProvider, AgentServerSettings, AnswerPolicy, BackgroundSessions};
pub use client_profile::McpClientProfile;
pub use fault::McpFault;
pub use http::{MCP_PATH, serve_http};
pub use log_level::LogLevel;
pub use provider::{
    McpFuture, McpProvider, McpReply, ProvidedCall, ProvidedTask, ProvidedTaskState, ProvidedTasks, ProvidedTool,
    ProviderChange, ReplyFuture, ServerFeature, ServerIdentity, TaskSupport, TasksPagePosition, ToolEffect,
    ToolSuccess, tool_result,
};
pub use request::{InputOutcome, McpRequest, TaskWish};
pub use revision::ServedRevision;
pub use stdio::serve_stdio;
