//! The tools of programs that are connected to the session, as a run in another process knows them. They run where the
//! session is.

use std::sync::Arc;

use host::Guardian;
use protocol::{ToolCallRequest, mcp_tool_name};
use serde::{Deserialize, Serialize};
use tools::{
    BoxFuture, CatalogListing, RemoteTasks, RequiredPermission, Tool, ToolAccess, ToolCatalog, ToolContext,
    ToolDescriptor, ToolError, ToolLimits, ToolOutput,
};

/// An input for tools whose permissions do not depend on it.
const ANY_INPUT: &str = "{}";

/// A tool of a program.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireTool {
    name: String,
    description: String,
    schema: serde_json::Value,
    access: WireAccess,
    permissions: Vec<WirePermission>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WireAccess {
    Read,
    Agent,
    Session,
    Write,
    Execute,
    Other,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum WirePermission {
    Read { path: String },
    Edit { path: String },
    Shell { command: String },
    Fetch { address: String },
    Agent { name: String },
    Session,
    Other,
}

impl WireTool {
    pub(super) fn of(tool: &dyn Tool, limits: &ToolLimits) -> WireTool {
        let ToolDescriptor { name, description, schema, access } = tool.spec();
        WireTool {
            name: name.to_string(),
            description: description.to_string(),
            schema: schema.clone(),
            access: match access {
                ToolAccess::Read => WireAccess::Read,
                ToolAccess::Agent => WireAccess::Agent,
                ToolAccess::Session => WireAccess::Session,
                ToolAccess::Write => WireAccess::Write,
                ToolAccess::Execute => WireAccess::Execute,
                ToolAccess::Other => WireAccess::Other,
            },
            permissions: known_permissions(tool, limits).into_iter().map(WirePermission::from).collect(),
        }
    }
}

/// The permissions of a call with any input, as far as they are known without it.
fn known_permissions(tool: &dyn Tool, limits: &ToolLimits) -> Vec<RequiredPermission> {
    tool.required_permissions(ANY_INPUT, limits).unwrap_or_else(|_refused| vec![RequiredPermission::Other])
}

/// Whether a run in another process judged a call of a program's tool by the permissions that it really needs.
pub(in crate::remote_run) fn was_judged_rightly(
    tool: &dyn Tool,
    call: &ToolCallRequest,
    limits: &ToolLimits,
) -> Result<(), ToolError> {
    if tool.required_permissions(&call.input, limits)? == known_permissions(tool, limits) {
        return Ok(());
    }
    let text =
        format!("`{}` is not available to an agent in a process of its own: call it from another agent", call.tool);
    Err(ToolError::refused(text))
}

/// Tools of programs outside, which are found and run where the session is.
#[derive(Debug)]
pub(super) struct SessionToolCatalog {
    pub(super) sources: Vec<String>,
}

impl ToolCatalog for SessionToolCatalog {
    /// The sources are those of the run's agent.
    fn for_agent(self: Arc<Self>, _definition: &str) -> Arc<dyn ToolCatalog> {
        self
    }

    fn sources(&self) -> Vec<String> {
        self.sources.clone()
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let is_of_source = |source: &String| name.starts_with(&mcp_tool_name(source, ""));
        self.sources.iter().any(is_of_source).then(|| {
            let spec = ToolDescriptor {
                name: name.to_owned().into(),
                description: "".into(),
                schema: serde_json::json!({ "type": "object" }),
                access: ToolAccess::Other,
            };
            Arc::new(SessionTool { spec, permissions: vec![RequiredPermission::Other] }) as Arc<dyn Tool>
        })
    }

    /// Searches run where the session is.
    fn list<'a>(&'a self, _query: &'a str, _guardian: &'a Guardian) -> BoxFuture<'a, CatalogListing> {
        Box::pin(async { CatalogListing::default() })
    }

    /// They are followed where the session is.
    fn remote_tasks(&self) -> Option<&dyn RemoteTasks> {
        None
    }
}

/// A tool that runs where the session is.
#[derive(Debug)]
pub(super) struct SessionTool {
    spec: ToolDescriptor,
    permissions: Vec<RequiredPermission>,
}

impl From<WireTool> for SessionTool {
    fn from(WireTool { name, description, schema, access, permissions }: WireTool) -> SessionTool {
        let access = match access {
            WireAccess::Read => ToolAccess::Read,
            WireAccess::Agent => ToolAccess::Agent,
            WireAccess::Session => ToolAccess::Session,
            WireAccess::Write => ToolAccess::Write,
            WireAccess::Execute => ToolAccess::Execute,
            WireAccess::Other => ToolAccess::Other,
        };
        SessionTool {
            spec: ToolDescriptor { name: name.into(), description: description.into(), schema, access },
            permissions: permissions.into_iter().map(RequiredPermission::from).collect(),
        }
    }
}

impl Tool for SessionTool {
    fn spec(&self) -> &ToolDescriptor {
        &self.spec
    }

    fn required_permissions(&self, _input: &str, _limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(self.permissions.clone())
    }

    fn run<'a>(&'a self, _input: &'a str, _cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Err(ToolError::failed("this call needs the session, but does not run there")) })
    }
}

impl From<RequiredPermission> for WirePermission {
    fn from(permission: RequiredPermission) -> WirePermission {
        match permission {
            RequiredPermission::Read(path) => WirePermission::Read { path },
            RequiredPermission::Edit(path) => WirePermission::Edit { path },
            RequiredPermission::Shell(command) => WirePermission::Shell { command },
            RequiredPermission::Fetch(address) => WirePermission::Fetch { address },
            RequiredPermission::Agent(name) => WirePermission::Agent { name },
            RequiredPermission::Session => WirePermission::Session,
            RequiredPermission::Other => WirePermission::Other,
        }
    }
}

impl From<WirePermission> for RequiredPermission {
    fn from(permission: WirePermission) -> RequiredPermission {
        match permission {
            WirePermission::Read { path } => RequiredPermission::Read(path),
            WirePermission::Edit { path } => RequiredPermission::Edit(path),
            WirePermission::Shell { command } => RequiredPermission::Shell(command),
            WirePermission::Fetch { address } => RequiredPermission::Fetch(address),
            WirePermission::Agent { name } => RequiredPermission::Agent(name),
            WirePermission::Session => RequiredPermission::Session,
            WirePermission::Other => RequiredPermission::Other,
        }
    }
}
