//! Beginning, resuming and copying sessions: what a client wants, in the words of the command line.

use std::path::PathBuf;
use std::sync::Arc;

use hyper::StatusCode;
use protocol::api::{Method, SendParams, SessionView};
use protocol::{Delivery, Effort, SessionMode};
use rpc::Client;
use runtime::Start;
use serde_json::json;

use super::Limits;
use super::hall::Hall;
use super::problem::Problem;
use super::reach::{Reach, call};
use super::words::Beginning;
use crate::Order;
use crate::flags::Flags;

/// Opens a session here, says its first words, and tells what it is then.
pub(super) async fn begin(
    hall: &Arc<Hall>,
    start: Start,
    wanted: Beginning,
    limits: &Limits,
) -> Result<SessionView, Problem> {
    let prompt = wanted.prompt.clone();
    if let Some((client, _notifications)) = running(hall, start).await? {
        return first_words(&client, prompt, limits).await;
    }
    let (id, (client, _notifications)) = hall.open(order(start, wanted)?).await?;
    let begun = first_words(&client, prompt, limits).await;
    if begun.is_err() {
        // Whoever asked is not told of it, and would not stop it.
        hall.leave(id).await;
    }
    begun
}

/// Says the first words, if there are any, and tells what the session is then.
async fn first_words(client: &Client, prompt: Option<String>, limits: &Limits) -> Result<SessionView, Problem> {
    if let Some(text) = prompt {
        let message = SendParams { task: None, text, images: Vec::new(), delivery: Delivery::FollowUp, display: None };
        let message = serde_json::to_value(message).map_err(Problem::broken)?;
        call(client, Method::SessionSend, message, limits.answer_time).await?;
    }
    let view = call(client, Method::SessionGet, json!({}), limits.answer_time).await?;
    serde_json::from_value(view).map_err(Problem::broken)
}

/// A connection to the session that is to go on, if it does already.
async fn running(hall: &Hall, start: Start) -> Result<Option<super::hall::Link>, Problem> {
    match start {
        Start::New => Ok(None),
        Start::Resume(id) => match hall.reach(id).await? {
            Reach::Live(link) => Ok(Some(link)),
            Reach::Resting(_) => Ok(None),
        },
        // Whether there is one to copy.
        Start::Fork(id) => store::Reader::open(hall.home(), id).map(|_reader| None).map_err(Problem::from),
    }
}

fn order(start: Start, wanted: Beginning) -> Result<Order, Problem> {
    let Beginning {
        prompt: _,
        cwd,
        model,
        effort,
        mode,
        permission,
        allow,
        ask,
        deny,
        add_dirs,
        max_turns,
        max_budget_usd,
        max_tokens,
        list,
        agent,
        agents,
        ask_user,
        ask_wait_seconds,
    } = wanted;
    let cwd = cwd.map(PathBuf::from);
    if let Some(cwd) = cwd.as_ref().filter(|cwd| !cwd.is_absolute()) {
        let detail = format!("cwd `{}` does not begin at the root", cwd.display());
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail).remedy("write the whole path"));
    }
    let mut flags = Flags::default();
    flags.put("--model", model);
    flags.put("--effort", effort.map(effort_word));
    flags.put("--permission-mode", permission.map(|mode| mode.word()));
    flags.put("--max-turns", max_turns);
    flags.put("--max-budget-usd", max_budget_usd);
    flags.put("--max-tokens-total", max_tokens);
    flags.put("--list", list);
    flags.put("--agent", agent);
    flags.put("--agents", agents.map(serde_json::Value::Object));
    flags.put("--ask-wait", Some(ask_wait_seconds.map_or_else(|| "for-ever".into(), |seconds| format!("{seconds}s"))));
    flags.each("--allow", allow);
    flags.each("--ask", ask);
    flags.each("--deny", deny);
    flags.each("--add-dir", add_dirs);
    if ask_user == Some(false) {
        flags.set("--no-ask-user");
    }
    match mode {
        Some(SessionMode::Plan) => flags.set("--plan"),
        Some(SessionMode::Autopilot) => flags.set("--autopilot"),
        Some(SessionMode::Interactive) | None => {}
    }
    Ok(Order { cwd, flags: flags.into_words(), ..Order::new(start) })
}

fn effort_word(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d4_what_a_client_wants_is_said_in_flags_that_no_value_can_break_out_of() {
        let wanted = json!({
            "model": "--allow-all", "mode": "plan", "permission": "acceptEdits", "allow": ["shell(git status)"],
            "maxTurns": 3, "maxBudgetUsd": 0.5, "askUser": false, "cwd": "/tmp",
        });
        let order = order(Start::New, serde_json::from_value(wanted).unwrap()).unwrap();
        assert_eq!(
            order.flags,
            [
                "--model=--allow-all",
                "--permission-mode=accept-edits",
                "--max-turns=3",
                "--max-budget-usd=0.5",
                "--ask-wait=for-ever",
                "--allow=shell(git status)",
                "--no-ask-user",
                "--plan",
            ]
        );
        assert_eq!(order.cwd, Some("/tmp".into()));
    }

    #[test]
    fn d4_a_folder_that_depends_on_where_the_server_stands_is_refused() {
        let wanted = Beginning { cwd: Some("work".into()), ..Beginning::default() };
        assert!(order(Start::New, wanted).is_err());
    }
}
