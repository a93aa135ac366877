//! Tools that start, message, read, list and stop agents.

use std::fmt::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use client::{ClientError, SessionHandle};
use protocol::api::{
    Method, SendParams, SessionCommand, SessionOverview, SessionView, SessionsPage, SessionsParams, StopTaskParams,
    TasksParams, calls,
};
pub(super) use protocol::tool_name::{LIST_AGENTS, READ_AGENT, STOP_AGENT};
use protocol::{CancelMode, MailDelivery, PermissionMode, SessionOptions, TaskId, Usd};
use runtime::SessionStart;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::super::answers::{ANSWER_TIMEOUT, CLOSE_PAUSE, CLOSE_TIME, give};
use super::super::arguments::{self, AgentToolError};
use super::super::provider::AgentServer;
use super::super::report::{self, AgentReport, RunFacts};
use super::super::run_wait::{RunWaitEnd, RunWaiter};
use crate::mcp::{McpReply, McpRequest, ProvidedTool, TaskSupport, TaskWish, ToolEffect};

/// The names that agents' own tools do not have.
pub(super) const START_AGENT: &str = "start_agent";
pub(super) const MESSAGE_AGENT: &str = "message_agent";

/// The longest wait of a call.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// Maximum bytes of a prompt or a message.
const MAX_PROMPT_BYTES: usize = 1 << 20;

/// How many turns are returned at once, and how many bytes of each.
const MAX_TURNS: usize = 20;
const MAX_TURN_BYTES: usize = 4 * 1024;

/// How many sessions a page has, and how many are looked at for it.
const MAX_AGENTS: usize = 50;
const MAX_LISTED_SESSIONS: u64 = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StartAgentArgs {
    /// What the agent is to do; it knows nothing else.
    prompt: String,
    /// The folder it works in, below the server's folder, which is the default.
    #[serde(default)]
    folder: Option<String>,
    /// The agent definition; the default agent when absent.
    #[serde(default)]
    agent: Option<String>,
    /// The model; the user's default when absent.
    #[serde(default)]
    model: Option<String>,
    /// Whether it may only read.
    #[serde(default)]
    read_only: bool,
    /// Maximum turns.
    #[serde(default)]
    max_turns: Option<u32>,
    /// Maximum cost in US dollars.
    #[serde(default)]
    max_budget_usd: Option<f64>,
    /// How many seconds to wait for the answer; the call returns at once when absent.
    #[serde(default)]
    wait_seconds: Option<u64>,
}

pub(super) fn start_agent_tool() -> ProvidedTool {
    ProvidedTool {
        name: START_AGENT,
        title: "Start an agent",
        description: "Starts a coding agent with a prompt. It continues in the background: read_agent returns its \
                      answer, message_agent sends it more. With wait_seconds, waits for the answer.",
        input_schema: arguments::input_schema::<StartAgentArgs>(),
        output_schema: Some(arguments::output_schema::<AgentReport>()),
        effect: ToolEffect::Changes,
        tasks: TaskSupport::Optional,
    }
}

pub(super) async fn start_agent(
    server: &AgentServer,
    arguments: Map<String, Value>,
    request: &McpRequest,
) -> Result<McpReply, AgentToolError> {
    let args: StartAgentArgs = arguments::read(arguments)?;
    let limit = wait_limit(args.wait_seconds);
    let session = match request.state() {
        // The client's user has decided, and the call goes on.
        Some(state) => server.settings.session(state).await?.0,
        None => {
            let options = start_options(server, &args)?;
            server.begin(SessionStart::New, options).await?
        }
    };
    server.reply_of_run(&session, limit, request).await
}

/// The options of a session: the server's own, as far as the client does not narrow them.
fn start_options(server: &AgentServer, args: &StartAgentArgs) -> Result<SessionOptions, AgentToolError> {
    let options = server.settings.options.clone();
    let turns = match args.max_turns {
        Some(turns) => {
            Some(NonZeroU32::new(turns).ok_or_else(|| AgentToolError::refused("max_turns must be at least 1"))?)
        }
        None => None,
    };
    let budget = args.max_budget_usd.map(dollars).transpose()?;
    Ok(SessionOptions {
        prompt: Some(checked_text(&args.prompt)?),
        cwd: Some(server.settings.working_folder(args.folder.as_deref())?),
        agent: args.agent.clone().or(options.agent),
        model: args.model.as_deref().map(checked_model).transpose()?.or(options.model),
        permission: if args.read_only { Some(PermissionMode::Plan) } else { options.permission },
        max_turns: smaller(turns, options.max_turns),
        max_budget_usd: smaller(budget, options.max_budget_usd.map(|Usd(micros)| micros)).map(Usd),
        ..options
    })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessageAgentArgs {
    /// The session.
    session: String,
    /// The message.
    text: String,
    /// The agent below the session's main agent, by its path; the main agent when absent.
    #[serde(default)]
    task: Option<String>,
    /// When a working agent reads it.
    #[serde(default)]
    timing: MessageTiming,
    /// How many seconds to wait for the answer; the call returns at once when absent.
    #[serde(default)]
    wait_seconds: Option<u64>,
}

/// When a working agent reads a message. One at rest always reads it at once.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MessageTiming {
    /// When it has answered.
    #[default]
    FollowUp,
    /// After its current turn.
    Steer,
}

pub(super) fn message_agent_tool() -> ProvidedTool {
    ProvidedTool {
        name: MESSAGE_AGENT,
        title: "Message an agent",
        description: "Sends a message to an agent: a follow-up, or a correction while it works (timing steer). An \
                      agent at rest continues. With wait_seconds, waits for the answer.",
        input_schema: arguments::input_schema::<MessageAgentArgs>(),
        output_schema: Some(arguments::output_schema::<AgentReport>()),
        effect: ToolEffect::Changes,
        tasks: TaskSupport::Forbidden,
    }
}

pub(super) async fn message_agent(
    server: &AgentServer,
    arguments: Map<String, Value>,
    request: &McpRequest,
) -> Result<McpReply, AgentToolError> {
    let args: MessageAgentArgs = arguments::read(arguments)?;
    let (session, view) = server.settings.session(&args.session).await?;
    if request.state().is_none() {
        let task = match &args.task {
            Some(task) => Some(subtask(&session, task).await?),
            None => None,
        };
        let text = checked_text(&args.text)?;
        let delivery = match args.timing {
            MessageTiming::FollowUp => MailDelivery::FollowUp,
            MessageTiming::Steer => MailDelivery::Steer,
        };
        let message = SendParams { task, text, images: Vec::new(), delivery, display: None };
        server.deliver(&session, &view, message).await?;
    }
    server.reply_of_run(&session, wait_limit(args.wait_seconds), request).await
}

/// The options of a session that is resumed: what it stores itself stays as it was, unless the server allows less.
fn resume_options(server: &AgentServer, view: &SessionView) -> SessionOptions {
    let options = server.settings.options.clone();
    SessionOptions {
        cwd: None,
        model: None,
        effort: None,
        agent: None,
        permission: options.permission.filter(|mode| mode.is_narrower(view.permission)),
        allow: Vec::new(),
        add_dirs: Vec::new(),
        max_turns: None,
        max_budget_usd: None,
        max_tokens: None,
        ..options
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadAgentArgs {
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

pub(super) fn read_agent_tool() -> ProvidedTool {
    ProvidedTool {
        name: READ_AGENT,
        title: "Read an agent",
        description: "Returns what an agent does and its answer, or its latest text while it works; with turns_after \
                      also its turns, with wait_seconds as soon as it rests.",
        input_schema: arguments::input_schema::<ReadAgentArgs>(),
        output_schema: Some(arguments::output_schema::<AgentReading>()),
        effect: ToolEffect::Reads,
        tasks: TaskSupport::Forbidden,
    }
}

pub(super) async fn read_agent(
    server: &AgentServer,
    arguments: Map<String, Value>,
    request: &McpRequest,
) -> Result<McpReply, AgentToolError> {
    let args: ReadAgentArgs = arguments::read(arguments)?;
    let (session, _view) = server.settings.session(&args.session).await?;
    let waiter = RunWaiter { settings: &server.settings, background: &*server.background, request };
    let facts = match waiter.wait(&session, wait_limit(args.wait_seconds)).await? {
        RunWaitEnd::Facts(facts) => facts,
        RunWaitEnd::Reply(reply) => return Ok(reply),
    };
    let wanted = args.task.clone();
    let reading = session.read(move |session| read_turns(session, facts.report, wanted.as_deref(), args.turns_after));
    let reading = reading.await?.ok_or_else(|| unknown_task(args.task.as_deref().unwrap_or_default()))?;
    let mut text = agent_text(&reading.agent);
    for TurnReport { turn, text: said } in &reading.turns {
        // Writing to a string cannot fail.
        let _written = write!(text, "\n\nturn {turn}: {said}");
    }
    Ok(McpReply::Complete(arguments::structured(&text, &reading)?))
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

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListAgentsArgs {
    /// How many to skip.
    #[serde(default)]
    offset: usize,
}

/// The agents of the server, newest first.
#[derive(Debug, Serialize, JsonSchema)]
struct AgentList {
    /// The agents.
    agents: Vec<ListedAgent>,
    /// How many there are in total.
    total: usize,
}

/// An agent in a list.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedAgent {
    /// Its session.
    session: String,
    /// The state of its main agent.
    state: String,
    /// The beginning of its first prompt.
    title: String,
    /// The folder it works in.
    folder: String,
    /// When its last event happened.
    updated_at: String,
}

pub(super) fn list_agents_tool() -> ProvidedTool {
    ProvidedTool {
        name: LIST_AGENTS,
        title: "List agents",
        description: "Lists the agents and fleets that clients of this server started, newest first.",
        input_schema: arguments::input_schema::<ListAgentsArgs>(),
        output_schema: Some(arguments::output_schema::<AgentList>()),
        effect: ToolEffect::Reads,
        tasks: TaskSupport::Forbidden,
    }
}

pub(super) async fn list_agents(
    server: &AgentServer,
    arguments: Map<String, Value>,
) -> Result<McpReply, AgentToolError> {
    let args: ListAgentsArgs = arguments::read(arguments)?;
    let all = server.sessions().await?;
    let total = all.len();
    let agents = all.into_iter().skip(args.offset).take(MAX_AGENTS).map(|row| ListedAgent {
        session: row.id.to_string(),
        state: row.state,
        title: protocol::clip_middle(&row.title, 200),
        folder: row.cwd,
        updated_at: row.updated_at.to_string(),
    });
    let list = AgentList { agents: agents.collect(), total };
    let line = |agent: &ListedAgent| format!("{} {} {}", agent.session, agent.state, agent.title);
    let text = match list.agents.is_empty() {
        true => "no agents".to_owned(),
        false => list.agents.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    Ok(McpReply::Complete(arguments::structured(&text, &list)?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StopAgentArgs {
    /// The session.
    session: String,
    /// The agent to stop, by its path, with those below it; the whole session when absent.
    #[serde(default)]
    task: Option<String>,
}

pub(super) fn stop_agent_tool() -> ProvidedTool {
    ProvidedTool {
        name: STOP_AGENT,
        title: "Stop an agent",
        description: "Stops an agent, a fleet, or one agent of a session. What it did stays, and message_agent can \
                      continue it.",
        input_schema: arguments::input_schema::<StopAgentArgs>(),
        output_schema: None,
        effect: ToolEffect::Changes,
        tasks: TaskSupport::Forbidden,
    }
}

pub(super) async fn stop_agent(
    server: &AgentServer,
    arguments: Map<String, Value>,
) -> Result<McpReply, AgentToolError> {
    let args: StopAgentArgs = arguments::read(arguments)?;
    let (session, _view) = server.settings.session(&args.session).await?;
    match &args.task {
        Some(task) => {
            let task = subtask(&session, task).await?;
            let command = SessionCommand::StopTask(StopTaskParams { task, how: CancelMode::Abort });
            give(&session, &command).await?;
        }
        None => stop_session(&session).await?,
    }
    Ok(McpReply::text("it is being stopped; read_agent shows when it has"))
}

/// Stops everything in a session.
pub(in crate::mcp::agents) async fn stop_session(session: &SessionHandle) -> Result<(), AgentToolError> {
    // Without a fleet, this changes nothing.
    let stopped = give(session, &SessionCommand::StopFleet).await;
    if let Err(error) = stopped {
        tracing::debug!(?error, "no fleet was stopped");
    }
    give(session, &SessionCommand::Stop).await?;
    Ok(())
}

impl AgentServer {
    /// Begins a session for a client.
    pub(super) async fn begin(
        &self,
        start: SessionStart,
        options: SessionOptions,
    ) -> Result<SessionHandle, AgentToolError> {
        let view = self.background.begin(start, options).await?;
        self.adopt(view.id)
    }

    /// Delivers a message; a session that rests is resumed with it.
    async fn deliver(
        &self,
        session: &SessionHandle,
        view: &SessionView,
        message: SendParams,
    ) -> Result<(), AgentToolError> {
        let until = Instant::now() + CLOSE_TIME;
        loop {
            match (session.call::<calls::SessionSend>(&message, ANSWER_TIMEOUT).await, message.task) {
                (Ok(_receipt), _) => return Ok(()),
                (Err(ClientError::NotRunning(_)), None) => {
                    let options = SessionOptions { prompt: Some(message.text), ..resume_options(self, view) };
                    self.begin(SessionStart::Resume(session.id()), options).await?;
                    return Ok(());
                }
                (Err(ClientError::NotRunning(_)), Some(_)) => {
                    // The next owner takes it first.
                    give(session, &SessionCommand::Send(message)).await?;
                    self.begin(SessionStart::Resume(session.id()), resume_options(self, view)).await?;
                    return Ok(());
                }
                // It is just being closed. A process that does not answer at all takes longer than this.
                (Err(ClientError::NoAnswer { .. }), _) if Instant::now() < until => {
                    tokio::time::sleep(CLOSE_PAUSE).await;
                }
                (Err(error), _) => return Err(error.into()),
            }
        }
    }

    /// The sessions of this server's clients, newest first.
    pub(in crate::mcp::agents) async fn sessions(&self) -> Result<Vec<SessionOverview>, AgentToolError> {
        let params = SessionsParams { limit: Some(MAX_LISTED_SESSIONS), ..SessionsParams::default() };
        let page = client::call_home(&self.settings.home, Method::SessionsList, json!(params)).await?;
        let page: SessionsPage = serde_json::from_value(page).map_err(crate::mcp::McpFault::internal)?;
        Ok(page.sessions.into_iter().filter(|row| self.settings.includes(row.id, &row.cwd)).collect())
    }

    /// The reply to a call that started or continued a run: a task, or what is known after waiting.
    pub(super) async fn reply_of_run(
        &self,
        session: &SessionHandle,
        limit: Duration,
        request: &McpRequest,
    ) -> Result<McpReply, AgentToolError> {
        let becomes_task = match request.task_wish() {
            TaskWish::Task => true,
            TaskWish::Either => !limit.is_zero(),
            TaskWish::Result => false,
        };
        if becomes_task {
            return self.reply_of_task(session, request).await;
        }
        let waiter = RunWaiter { settings: &self.settings, background: &*self.background, request };
        match waiter.wait(session, limit).await? {
            RunWaitEnd::Reply(reply) => Ok(reply),
            RunWaitEnd::Facts(facts) => {
                let RunFacts { report, .. } = *facts;
                Ok(McpReply::Complete(arguments::structured(&agent_text(&report), &report)?))
            }
        }
    }
}

/// An agent for models.
pub(in crate::mcp::agents) fn agent_text(report: &AgentReport) -> String {
    let mut text = format!("session {}: {}", report.session, report.status.as_str());
    if report.open_asks > 0 {
        let _written = write!(text, "; {} wait for a decision of the user: list_asks", report.open_asks);
    }
    if !report.subagents.is_empty() {
        let _written = write!(text, "; {} subagents", report.subagents.len());
    }
    if !report.text.is_empty() {
        let _written = write!(text, "\n\n{}", report.text);
    }
    text
}

/// How long a call waits.
pub(super) fn wait_limit(seconds: Option<u64>) -> Duration {
    Duration::from_secs(seconds.unwrap_or(0)).min(MAX_WAIT)
}

/// A prompt or message of a size that a session takes.
pub(super) fn checked_text(text: &str) -> Result<String, AgentToolError> {
    if text.trim().is_empty() {
        return Err(AgentToolError::refused("the text is empty"));
    }
    if text.len() > MAX_PROMPT_BYTES {
        return Err(AgentToolError::refused(format!("the text is larger than {MAX_PROMPT_BYTES} bytes")));
    }
    Ok(text.to_owned())
}

/// A model that a client may choose: those in files are the user's alone.
pub(super) fn checked_model(model: &str) -> Result<String, AgentToolError> {
    match model.split('/').next() {
        Some("script" | "replay") => {
            Err(AgentToolError::refused("clients cannot choose models in files; the user can, with --model"))
        }
        Some(_) | None => Ok(model.to_owned()),
    }
}

/// Dollars as millionths.
fn dollars(amount: f64) -> Result<u64, AgentToolError> {
    protocol::parse_usd(&amount.to_string()).map_err(|why| AgentToolError::refused(format!("max_budget_usd: {why}")))
}

fn smaller<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

async fn subtask(session: &SessionHandle, wanted: &str) -> Result<TaskId, AgentToolError> {
    let tasks = session.read(|session| Ok(session.tasks(&TasksParams::all_tasks())?.tasks)).await?;
    report::find_task(&tasks, wanted).map(|(id, _)| id).ok_or_else(|| unknown_task(wanted))
}

fn unknown_task(wanted: &str) -> AgentToolError {
    let wanted = protocol::clip_middle(wanted, 200);
    AgentToolError::refused(format!("the session has no agent `{wanted}`; read_agent names them"))
}
