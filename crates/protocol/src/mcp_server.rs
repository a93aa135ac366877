//! MCP servers as settings files, flags and clients write them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Seconds;

/// An MCP server: a program that is started, or a URL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct McpServerSpec {
    /// How it is reached; by default what `command` and `url` say.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<McpServerKind>,
    /// The program to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables for it, in addition to those that all programs get.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The folder it runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The URL to connect to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers of every request to the URL.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// How many seconds it may take to start and to list its tools.
    #[serde(alias = "start-timeout-seconds", skip_serializing_if = "Option::is_none")]
    pub start_timeout_seconds: Option<Seconds>,
    /// How many seconds a call of one of its tools may take.
    #[serde(alias = "call-timeout-seconds", skip_serializing_if = "Option::is_none")]
    pub call_timeout_seconds: Option<Seconds>,
    /// How many seconds a call may take that the server does as a task of its own.
    #[serde(alias = "task-timeout-seconds", skip_serializing_if = "Option::is_none")]
    pub task_timeout_seconds: Option<Seconds>,
    /// The tools that agents may call, by the server's names; all when absent or `*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools that agents may not call.
    #[serde(alias = "disabled-tools", skip_serializing_if = "Vec::is_empty")]
    pub disabled_tools: Vec<String>,
    /// The version of the protocol to speak, 2025-11-25 or 2026-07-28; negotiated when absent.
    #[serde(alias = "protocol-version", skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// Whether it may ask the session's model questions. A project's files cannot allow it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sampling: bool,
    /// How to sign in to the URL, as far as the server does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth: Option<McpOAuthSpec>,
    /// Leaves it out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}

/// How to sign in to an MCP server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct McpOAuthSpec {
    /// Whether a user signs in, or the client for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<McpOAuthGrant>,
    /// Bosun's id at the authorization server, if it was registered there.
    #[serde(alias = "client-id", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The secret for it.
    #[serde(alias = "client-secret", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// A private key for it in PEM, instead of a secret.
    #[serde(alias = "private-key", skip_serializing_if = "Option::is_none")]
    pub private_key: Option<String>,
    /// The URL of a document that describes the client, as its id where that is accepted.
    #[serde(alias = "client-metadata-url", skip_serializing_if = "Option::is_none")]
    pub client_metadata_url: Option<String>,
    /// The scopes to ask for; those that the server names when absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The port that the browser is sent back to; any free one when absent.
    #[serde(alias = "callback-port", skip_serializing_if = "Option::is_none")]
    pub callback_port: Option<u16>,
}

/// Who signs in to an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpOAuthGrant {
    /// A user, with a browser.
    #[serde(alias = "authorization_code")]
    AuthorizationCode,
    /// The client itself.
    #[serde(alias = "client_credentials")]
    ClientCredentials,
}

/// The keys of a server in files and options of other products that mean what they mean here.
const KNOWN_KEYS: [&str; 16] = [
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "startTimeoutSeconds",
    "callTimeoutSeconds",
    "taskTimeoutSeconds",
    "tools",
    "disabledTools",
    "protocolVersion",
    "sampling",
    "oauth",
    "disabled",
];

/// The shortest time limit of a call in milliseconds that other products accept.
const MIN_TIMEOUT_MS: u64 = 1000;

/// A longer one means this.
const MAX_TIMEOUT_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// A server as other products write it.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignMcpServer {
    /// The server.
    pub server: McpServerSpec,
    /// Its keys that have no effect.
    pub unused_keys: Vec<String>,
}

impl ForeignMcpServer {
    /// Reads a server: unknown keys are not errors, `timeout` is the time limit of a call in milliseconds, and
    /// `excludeTools` are disabled tools.
    pub fn read(fields: Map<String, Value>) -> Result<ForeignMcpServer, serde_json::Error> {
        let (mut known, mut unused_keys, mut timeout) = (Map::new(), Vec::new(), None);
        for (key, value) in fields {
            match key.as_str() {
                // Programs write absent fields so.
                _any if value.is_null() => {}
                key if KNOWN_KEYS.contains(&key) => drop(known.insert(key.to_owned(), value)),
                "excludeTools" => drop(known.entry("disabledTools").or_insert(value)),
                "timeout" => {
                    timeout = value.as_u64().filter(|ms| *ms >= MIN_TIMEOUT_MS).map(|ms| ms.min(MAX_TIMEOUT_MS));
                }
                _unknown => unused_keys.push(key),
            }
        }
        let mut server: McpServerSpec = serde_json::from_value(Value::Object(known))?;
        if let Some(ms) = timeout {
            server.call_timeout_seconds.get_or_insert(Seconds(Duration::from_millis(ms)));
        }
        Ok(ForeignMcpServer { server, unused_keys })
    }
}

/// How an MCP server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpServerKind {
    /// A program, over its input and output.
    #[serde(alias = "local")]
    Stdio,
    /// A URL, over streamable HTTP.
    #[serde(alias = "streamable-http", alias = "streamableHttp")]
    Http,
    /// A URL, over the HTTP transport of 2024, which is not supported.
    Sse,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(server: Value) -> Result<ForeignMcpServer, serde_json::Error> {
        ForeignMcpServer::read(server.as_object().unwrap().clone())
    }

    #[test]
    fn servers_of_other_products_are_read() {
        let local = json!({ "type": "local", "command": "db", "env": null, "tools": ["*"], "timeout": 5000,
            "excludeTools": ["drop"], "alwaysLoad": true });
        let ForeignMcpServer { server, unused_keys } = read(local).unwrap();
        assert_eq!((server.kind, server.disabled_tools), (Some(McpServerKind::Stdio), vec!["drop".to_owned()]));
        assert_eq!(server.call_timeout_seconds, Some(Seconds(Duration::from_secs(5))));
        assert_eq!(unused_keys, ["alwaysLoad"]);
        let short = read(json!({ "url": "https://a/mcp", "timeout": 10 })).unwrap();
        assert_eq!(short.server.call_timeout_seconds, None);
        assert!(read(json!({ "command": 5 })).is_err());
        assert!(read(json!({ "type": "ftp" })).is_err());
    }
}
