//! `session.commands.*`: slash commands of the session and of its clients.

use protocol::api::{InvokeSlashParams, InvokeSlashResult, Method, SlashKind, SlashList, SlashView};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::{optional_text, required_text};
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.commands.list" => list(session, &params).await,
        "session.commands.invoke" => invoke(session, &params).await,
        "session.commands.handlePendingCommand" => {
            let answered =
                session.commands.answer(required_text(&params, "requestId")?, optional_text(&params, "error"));
            Ok(json!({ "success": answered }))
        }
        other => Err(unhandled(other)),
    }
}

async fn list(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let SlashList { commands } = session.call(Method::CommandsList, json!({})).await?;
    let is_wanted = |name: &str| params[name] != false;
    let own = commands.iter().filter_map(|command| {
        let (kind, is_included) = match command.kind {
            SlashKind::BuiltIn | SlashKind::File => ("builtin", is_wanted("includeBuiltins")),
            SlashKind::Skill => ("skill", is_wanted("includeSkills")),
            // It works only in a terminal.
            SlashKind::Screen => return None,
        };
        is_included.then(|| command_view(command, kind))
    });
    let clients = if is_wanted("includeClientCommands") { session.commands.list() } else { Vec::new() };
    Ok(json!({ "commands": own.chain(clients).collect::<Vec<_>>() }))
}

fn command_view(command: &SlashView, kind: &str) -> Value {
    let mut view = json!({
        "name": command.name,
        "description": command.description,
        "kind": kind,
        "allowDuringAgentExecution": true,
    });
    if let Some(hint) = &command.hint {
        view["input"] = json!({ "hint": hint });
    }
    view
}

/// Runs a command. A client's command is run by that client, which reports when it is done.
async fn invoke(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let name = required_text(params, "name")?.trim_start_matches('/');
    let input = optional_text(params, "input").unwrap_or_default();
    if session.commands.contains(name) {
        session.commands.run(session, name, input).await?;
        return Ok(json!({ "kind": "completed" }));
    }
    let call = InvokeSlashParams { name: name.to_owned(), input: input.to_owned() };
    let result = match session.call(Method::CommandsInvoke, call).await? {
        // The SDK has no result of its own for a fleet.
        InvokeSlashResult::FleetStarted { message } => InvokeSlashResult::Completed { message, mode: None },
        result => result,
    };
    serde_json::to_value(result).map_err(ErrorObject::internal)
}
