//! Tokens for MCP servers that the program which drives a session supplies, in place of a login of the user.

use std::fmt;

use net::Secret;

use crate::BoxFuture;

/// Supplies tokens for MCP servers.
pub trait McpTokenSource: Send + Sync + fmt::Debug {
    /// Whether it supplies tokens at all at present.
    fn is_ready(&self) -> bool;

    /// A token for a server; none if it has none.
    fn token(&self, request: McpTokenRequest) -> BoxFuture<'_, Option<McpSuppliedToken>>;
}

/// A token that was supplied.
#[derive(Debug, Clone)]
pub struct McpSuppliedToken {
    /// The token.
    pub access: Secret,
    /// How long it is valid, if that is known, in seconds.
    pub expires_in: Option<u64>,
}

/// What a server wants a token for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpTokenRequest {
    /// The server.
    pub server: String,
    /// Its address.
    pub url: String,
    /// Why it wants another token.
    pub reason: McpTokenReason,
    /// Where the server says its metadata is.
    pub metadata_url: Option<String>,
    /// The scopes that the request needs, separated by spaces.
    pub scope: Option<String>,
    /// The server's error code.
    pub error: Option<String>,
    /// The server's metadata, as it publishes it.
    pub metadata: Option<String>,
    /// The id with which the program is registered, if the server's definition has one.
    pub client_id: Option<String>,
}

/// Why a server wants another token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpTokenReason {
    /// It has had none.
    Initial,
    /// It refuses the one that it has.
    Refresh,
    /// The one that it has does not permit enough.
    Upscope,
    /// It refuses the one that it has, and no other could be had without the user.
    Reauth,
}

impl McpTokenReason {
    /// The reason in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            McpTokenReason::Initial => "initial",
            McpTokenReason::Refresh => "refresh",
            McpTokenReason::Upscope => "upscope",
            McpTokenReason::Reauth => "reauth",
        }
    }
}
