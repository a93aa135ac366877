//! What a session needs to use its servers.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use host::{Clock, SystemClock};
use net::NetworkRoute;

use crate::{DefinedMcpServer, LoginPrompter, LoginStore, McpServerDefiner, McpTaskSupport};

/// The servers of a session, and what they need to be started.
#[derive(Debug, Clone, Default)]
pub struct McpServersConfig {
    /// The servers: each name once, except for those of agents.
    pub servers: Vec<DefinedMcpServer>,
    /// Checks servers that are added later; without it, none can be.
    pub definer: Option<Arc<dyn McpServerDefiner>>,
    /// The environment that all programs get.
    pub env: Vec<(OsString, OsString)>,
    /// The route to servers with a URL.
    pub route: NetworkRoute,
    /// The folders that they may work with.
    pub roots: Vec<PathBuf>,
    /// Where the error output of programs is kept.
    pub logs: Option<PathBuf>,
    /// Whether they may do calls as tasks of their own.
    pub tasks: McpTaskSupport,
    /// The user's logins to servers with a URL.
    pub logins: McpLogins,
}

/// The user's logins to servers.
#[derive(Debug, Clone)]
pub struct McpLogins {
    /// Where they are kept; they end with the process when absent.
    pub store: Option<LoginStore>,
    /// Lets the user sign in when a server asks for it; without it, only logins that exist are used.
    pub prompter: Option<Arc<dyn LoginPrompter>>,
    /// Says when tokens end.
    pub clock: Arc<dyn Clock>,
}

impl Default for McpLogins {
    fn default() -> McpLogins {
        McpLogins { store: None, prompter: None, clock: Arc::new(SystemClock) }
    }
}
