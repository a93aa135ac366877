//! `session.commands.*`: slash commands of the session, and those that clients run themselves.

use protocol::api::{InvokeParams, InvokeResult, Method, SlashKind, SlashList, SlashView};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::{maybe, text};
use super::unhandled;
use crate::copilot::held::Held;
use crate::copilot::visit::Visit;

pub(crate) async fn call(_visit: &Visit, session: &Held, method: &str, params: Value) -> Result<Value, ErrorObject> {
    match method {
        "session.commands.list" => list(session, &params).await,
        "session.commands.invoke" => invoke(session, &params).await,
        "session.commands.handlePendingCommand" => {
            let answered = session.commands.answer(text(&params, "requestId")?, maybe(&params, "error"));
            Ok(json!({ "success": answered }))
        }
        other => Err(unhandled(other)),
    }
}

async fn list(session: &Held, params: &Value) -> Result<Value, ErrorObject> {
    let SlashList { commands } = session.call(Method::CommandsList, json!({})).await?;
    let wants = |name: &str| params[name] != false;
    let own = commands.iter().filter_map(|command| {
        let (kind, wanted) = match command.kind {
            SlashKind::BuiltIn | SlashKind::File => ("builtin", wants("includeBuiltins")),
            SlashKind::Skill => ("skill", wants("includeSkills")),
            // It is of use at a terminal only.
            SlashKind::Screen => return None,
        };
        wanted.then(|| described(command, kind))
    });
    let clients = if wants("includeClientCommands") { session.commands.list() } else { Vec::new() };
    Ok(json!({ "commands": own.chain(clients).collect::<Vec<_>>() }))
}

fn described(command: &SlashView, kind: &str) -> Value {
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

/// Runs a command. A client's own is run by that client, and done when it says so.
async fn invoke(session: &Held, params: &Value) -> Result<Value, ErrorObject> {
    let name = text(params, "name")?.trim_start_matches('/');
    let input = maybe(params, "input").unwrap_or_default();
    if session.commands.knows(name) {
        session.commands.run(session, name, input).await?;
        return Ok(json!({ "kind": "completed" }));
    }
    let invoked = InvokeParams { name: name.to_owned(), input: input.to_owned() };
    let result: InvokeResult = session.call(Method::CommandsInvoke, invoked).await?;
    serde_json::to_value(result).map_err(ErrorObject::internal)
}
