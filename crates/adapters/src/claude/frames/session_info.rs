//! What the client is told of the session: the answer to its first request, and the head of every turn.

use protocol::api::{AgentView, SlashKind, SlashView};
use serde_json::{Value, json};
use uuid::Uuid;

use super::VERSION;
use crate::claude::mode::ClaudePermissionMode;

/// The tools that every session has, as the family names them. The one that starts agents goes by its older name here.
pub(in crate::claude) const INIT_TOOLS: [&str; 22] = [
    "Task",
    "Bash",
    "BashOutput",
    "KillShell",
    "Read",
    "Write",
    "Edit",
    "Glob",
    "Grep",
    "WebFetch",
    "SendMessage",
    "Skill",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TaskOutput",
    "TaskStop",
    "AskUserQuestion",
    "ExitPlanMode",
    "sql",
    "apply_patch",
];

/// What is known of a session at the beginning of a turn.
#[derive(Debug, Clone, Default)]
pub(in crate::claude) struct SessionInfo {
    pub(in crate::claude) cwd: String,
    pub(in crate::claude) model: String,
    pub(in crate::claude) mode: ClaudePermissionMode,
    pub(in crate::claude) tools: Vec<String>,
    pub(in crate::claude) servers: Vec<Value>,
    pub(in crate::claude) commands: Vec<SlashView>,
    pub(in crate::claude) agents: Vec<AgentView>,
    /// Whether another process runs the session, with what its own client brought along.
    pub(in crate::claude) is_attached: bool,
}

impl SessionInfo {
    /// The commands that a client can use: some are only of use at a terminal.
    fn offered(&self) -> impl Iterator<Item = &SlashView> {
        self.commands.iter().filter(|command| command.kind != SlashKind::Screen)
    }
}

/// The head of a turn.
pub(in crate::claude) fn init_frame(session: Uuid, known: &SessionInfo) -> Value {
    let names = |kind: fn(&SlashView) -> bool| -> Vec<&str> {
        known.offered().filter(|command| kind(command)).map(|command| command.name.as_str()).collect()
    };
    let agents: Vec<&str> = known.agents.iter().map(|agent| agent.name.as_str()).collect();
    let server = |server: &Value| json!({ "name": server["name"], "status": server["status"] });
    let servers: Vec<Value> = known.servers.iter().map(server).collect();
    super::system(
        session,
        "init",
        json!({
            "cwd": known.cwd,
            "tools": known.tools,
            "mcp_servers": servers,
            "model": known.model,
            "permissionMode": known.mode.as_str(),
            "slash_commands": names(|_| true),
            "apiKeySource": "none",
            "claude_code_version": VERSION,
            "output_style": "default",
            "agents": agents,
            "skills": names(|command| command.kind == SlashKind::Skill),
            "plugins": [],
            "fast_mode_state": "off",
        }),
    )
}

/// The answer to the client's first request.
pub(in crate::claude) fn initialize_response(known: &SessionInfo) -> Value {
    let commands: Vec<Value> = known.offered().map(command).collect();
    let agents: Vec<Value> = known.agents.iter().map(agent).collect();
    json!({
        "commands": commands,
        "agents": agents,
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": [{
            "value": "default", "displayName": known.model, "description": "The model that Bosun is configured with",
        }],
        "account": {},
        "pid": std::process::id(),
        "claude_code_version": VERSION,
        "hooks_applied": !known.is_attached,
        "hook_on_failure_supported": true,
        "fast_mode_state": "off",
    })
}

fn command(command: &SlashView) -> Value {
    json!({
        "name": command.name, "description": command.description,
        "argumentHint": command.hint.as_deref().unwrap_or_default(),
    })
}

fn agent(agent: &AgentView) -> Value {
    let mut view = json!({ "name": agent.name, "description": agent.description });
    if let Some(model) = agent.models.first() {
        view["model"] = json!(model);
    }
    view
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_told_of_the_commands_that_it_can_use() {
        let command = |name: &str, kind| SlashView {
            name: name.into(),
            description: String::new(),
            hint: None,
            kind,
            source: String::new(),
        };
        let commands = vec![command("compact", SlashKind::BuiltIn), command("exit", SlashKind::Screen)];
        let known = SessionInfo { commands, ..SessionInfo::default() };
        assert_eq!(init_frame(Uuid::nil(), &known)["slash_commands"], json!(["compact"]));
        assert_eq!(initialize_response(&known)["commands"].as_array().map(Vec::len), Some(1));
    }
}
