//! Shows what an agent does and what it has said.

use std::fmt::Write;

use client::{ClientError, SessionHandle};
use protocol::api::TasksParams;
use protocol::tool_name::READ_AGENT;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::arguments::{self, AgentToolError, wait_limit};
use super::super::provider::AgentServer;
use super::super::report::{self, AgentReport, agent_text};
use super::super::run_wait::{RunWaitEnd, RunWaiter};
use super::super::sessions::unknown_task;
use super::table::AgentTool;
use crate::mcp::{McpReply, McpRequest, ToolEffect};

/// How many turns are returned at once, and how many bytes of each.
const MAX_TURNS: usize = 20;
const MAX_TURN_BYTES: usize = 4 * 1024;

/// The tool.
pub(super) struct ReadAgent;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadAgentArgs {
    /// The session.
    session: String,
    /// The agent below the session's main agent, by its path; the main agent when absent.
    #[serde(default)]
    task: Option<String>,
    /// Returns the turns after this one too; 0 for the newest.
    #[serde(default)]
    turns_after: Option<u64>,
    /// How many seconds to wait until it rests.
    #[serde(default)]
    wait_seconds: Option<u64>,
}

/// An agent, and what it said.
#[derive(Debug, Serialize, JsonSchema)]
struct AgentReading {
    /// The agent.
    agent: AgentReport,
    /// The turns that were asked for, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    turns: Vec<TurnReport>,
}

/// A turn of an agent.
#[derive(Debug, Serialize, JsonSchema)]
struct TurnReport {
    /// Its number.
    turn: u64,
    /// What the agent said and called.
    text: String,
}

impl AgentTool for ReadAgent {
    const NAME: &'static str = READ_AGENT;
    const TITLE: &'static str = "Read an agent";
    const DESCRIPTION: &'static str = "Returns what an agent does and its answer, or its latest text while it works; with turns_after \
        also its turns, with wait_seconds as soon as it rests.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    type Args = ReadAgentArgs;

    fn output_schema() -> Option<Value> {
        Some(arguments::output_schema::<AgentReading>())
    }

    async fn call(server: &AgentServer, args: ReadAgentArgs, request: &McpRequest) -> Result<McpReply, AgentToolError> {
        let (session, _view) = server.settings.session(&args.session).await?;
        let waiter = RunWaiter { settings: &server.settings, background: &*server.background, request };
        let facts = match waiter.wait(&session, wait_limit(args.wait_seconds)).await? {
            RunWaitEnd::Facts(facts) => facts,
            RunWaitEnd::Reply(reply) => return Ok(reply),
        };
        let wanted = args.task.clone();
        let reading =
            session.read(move |session| read_turns(session, facts.report, wanted.as_deref(), args.turns_after));
        let reading = reading.await?.ok_or_else(|| unknown_task(args.task.as_deref().unwrap_or_default()))?;
        let mut text = agent_text(&reading.agent);
        for TurnReport { turn, text: said } in &reading.turns {
            // Writing to a string cannot fail.
            let _written = write!(text, "\n\nturn {turn}: {said}");
        }
        Ok(McpReply::Complete(arguments::structured(&text, &reading)?))
    }
}

/// The agent that is wanted, with its turns; none if there is no such agent.
fn read_turns(
    session: &SessionHandle,
    mut report: AgentReport,
    wanted: Option<&str>,
    turns_after: Option<u64>,
) -> Result<Option<AgentReading>, ClientError> {
    let tasks = session.tasks(&TasksParams::all_tasks())?.tasks;
    let task = match wanted {
        Some(wanted) => report::find_task(&tasks, wanted),
        None => tasks.iter().find(|task| task.parent.is_none()).map(|root| (root.id, root)),
    };
    let Some((id, task)) = task else { return Ok(None) };
    if wanted.is_some() {
        report.status = report::task_status(task);
        report.text = report::latest_text(session, task)?;
        report.subagents.retain(|below| below.task.starts_with(&format!("{}/", task.path)));
    }
    let turns = match turns_after {
        Some(after) => session
            .record(id)?
            .map(|record| record.turns)
            .unwrap_or_default()
            .into_iter()
            .skip_while(move |turn| after > 0 && u64::from(turn.turn.0) <= after)
            .collect(),
        None => Vec::new(),
    };
    let newest = turns.len().saturating_sub(MAX_TURNS);
    let turns = turns.into_iter().skip(newest).map(|turn| TurnReport {
        turn: u64::from(turn.turn.0),
        text: protocol::clip_middle(&turn.text.unwrap_or_default(), MAX_TURN_BYTES),
    });
    Ok(Some(AgentReading { agent: report, turns: turns.collect() }))
}
