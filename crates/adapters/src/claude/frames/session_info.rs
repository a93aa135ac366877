//! Session information for the client: the response to `initialize`, and the `init` frame of every turn.

use protocol::TOOLS;
use protocol::api::{AgentView, SlashKind, SlashView};
use serde_json::{Value, json};
use uuid::Uuid;

use super::VERSION;
use crate::claude::mode::ClaudePermissionMode;
use crate::claude::output_style;

/// The tools of every session, by their Claude names.
pub(in crate::claude) fn init_tools() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().filter_map(|tool| tool.announced)
}

/// Information about a session at the start of a turn.
#[derive(Debug, Clone, Default)]
pub(in crate::claude) struct SessionInfo {
    pub(in crate::claude) cwd: String,
    pub(in crate::claude) model: String,
    /// The models of all configured providers, as far as they are known.
    pub(in crate::claude) models: Vec<String>,
    pub(in crate::claude) mode: ClaudePermissionMode,
    pub(in crate::claude) tools: Vec<String>,
    pub(in crate::claude) commands: Vec<SlashView>,
    pub(in crate::claude) agents: Vec<AgentView>,
    /// The output style that the settings name.
    pub(in crate::claude) output_style: Option<String>,
    /// Whether another process runs the session, with the extensions of its own client.
    pub(in crate::claude) is_attached: bool,
}

impl SessionInfo {
    fn output_style(&self) -> &str {
        self.output_style.as_deref().unwrap_or(output_style::DEFAULT)
    }

    /// The commands that a client can use; some work only in a terminal.
    fn client_commands(&self) -> impl Iterator<Item = &SlashView> {
        self.commands.iter().filter(|command| command.kind != SlashKind::Screen)
    }
}

/// The `init` frame, which starts every turn, with the MCP servers and the tools of those that are connected.
pub(in crate::claude) fn init_frame(
    session: Uuid,
    info: &SessionInfo,
    servers: &[Value],
    server_tools: &[String],
) -> Value {
    let names = |kind: fn(&SlashView) -> bool| -> Vec<&str> {
        info.client_commands().filter(|command| kind(command)).map(|command| command.name.as_str()).collect()
    };
    let agents: Vec<&str> = info.agents.iter().map(|agent| agent.name.as_str()).collect();
    let server = |server: &Value| json!({ "name": server["name"], "status": server["status"] });
    let servers: Vec<Value> = servers.iter().map(server).collect();
    let tools: Vec<&String> = info.tools.iter().chain(server_tools).collect();
    super::system_frame(
        session,
        "init",
        json!({
            "cwd": info.cwd,
            "tools": tools,
            "mcp_servers": servers,
            "model": info.model,
            "permissionMode": info.mode.as_str(),
            "slash_commands": names(|_| true),
            "apiKeySource": "none",
            "claude_code_version": VERSION,
            "output_style": info.output_style(),
            "agents": agents,
            "skills": names(|command| command.kind == SlashKind::Skill),
            "plugins": [],
            "fast_mode_state": "off",
        }),
    )
}

/// The response to the client's `initialize` request.
pub(in crate::claude) fn initialize_response(info: &SessionInfo) -> Value {
    let commands: Vec<Value> = info.client_commands().map(command_json).collect();
    let agents: Vec<Value> = info.agents.iter().map(agent_json).collect();
    json!({
        "commands": commands,
        "agents": agents,
        "output_style": info.output_style(),
        "available_output_styles": output_style::built_in_names().collect::<Vec<_>>(),
        "models": model_list(info),
        "account": {},
        "pid": std::process::id(),
        "claude_code_version": VERSION,
        "hooks_applied": !info.is_attached,
        "hook_on_failure_supported": true,
        "fast_mode_state": "off",
    })
}

/// The models that a client can choose: the configured one, and all others that are known.
pub(in crate::claude) fn model_list(info: &SessionInfo) -> Vec<Value> {
    let default = json!({
        "value": "default", "displayName": info.model, "description": "The model that Bosun is configured with",
    });
    let named = |model: &String| {
        let (provider, name) = model.split_once('/').unwrap_or(("", model));
        json!({ "value": model, "resolvedModel": name, "displayName": name, "description": format!("A model of {provider}") })
    };
    [default].into_iter().chain(info.models.iter().map(named)).collect()
}

fn command_json(command: &SlashView) -> Value {
    json!({
        "name": command.name, "description": command.description,
        "argumentHint": command.hint.as_deref().unwrap_or_default(),
    })
}

fn agent_json(agent: &AgentView) -> Value {
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
        let info = SessionInfo { commands, ..SessionInfo::default() };
        assert_eq!(init_frame(Uuid::nil(), &info, &[], &[])["slash_commands"], json!(["compact"]));
        assert_eq!(initialize_response(&info)["commands"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn a_client_is_told_of_the_tools_that_it_knows() {
        let expected = [
            "Task AskUserQuestion ExitPlanMode Skill SendMessage Bash BashOutput KillShell Read Write Edit Glob Grep",
            "WebFetch TaskCreate TaskGet TaskList TaskUpdate TaskOutput TaskStop ListMcpResourcesTool ReadMcpResourceTool sql apply_patch",
        ];
        let mut expected: Vec<&str> = expected.iter().flat_map(|line| line.split(' ')).collect();
        let mut told: Vec<&str> = init_tools().collect();
        expected.sort_unstable();
        told.sort_unstable();
        assert_eq!(told, expected);
    }
}
