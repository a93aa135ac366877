//! Reads the state and output of agents.

use kernel::{Kernel, KernelTask, ReaderWait};
use protocol::{Activation, Clip, ContentBlock, Event, TaskForm, TaskId, Turn, WaitMode};
use tools::{ReadAgentRequest, ToolError, WaitLimit};

use super::result_text::{QUOTE_MARGIN, latest_result};
use super::{AgentSubagents, tool_error};
use crate::compact::one_line;
use crate::prompt;
use crate::roster::RosterEntry;

/// The most bytes of one agent's text.
const MAX_TEXT_BYTES: usize = 24 * 1024;

/// The most bytes of a description or an intent.
const MAX_LINE_BYTES: usize = 200;

/// The most agents in one list.
const MAX_LISTED_AGENTS: usize = 100;

/// The status of one task.
struct SubagentStatus {
    state: &'static str,
    turns: u32,
    stalled: bool,
    unread_messages: usize,
    at_rest: bool,
    activation: Activation,
}

impl SubagentStatus {
    fn of_task(task: &KernelTask) -> SubagentStatus {
        SubagentStatus {
            state: task.phase.state().as_str(),
            turns: task.turn.0,
            stalled: task.stalled,
            unread_messages: task.inbox.len(),
            at_rest: task.phase.is_at_rest(),
            activation: task.activation,
        }
    }

    fn describe(&self) -> String {
        let stalled = if self.stalled { ", stalled" } else { "" };
        let unread = if self.unread_messages > 0 {
            format!(", {} messages unread", self.unread_messages)
        } else {
            String::new()
        };
        format!("{}{stalled}, turn {}{unread}", self.state, self.turns)
    }
}

impl AgentSubagents {
    pub(super) async fn read_agent(&self, request: ReadAgentRequest) -> Result<String, ToolError> {
        let task = self.find_below(&request.agent)?;
        if let WaitLimit::For(time) = request.wait {
            let until = self.context.facts.clock.now().plus(time);
            match request.since_turn {
                None => self.caller.wait(vec![task], WaitMode::All, Some(until)).await,
                Some(since) => {
                    let next_turn = ReaderWait::Turn { task, after: Turn(since) };
                    let supervisor = self.caller.supervisor.clone();
                    // The reader looks at the task afterwards, however the wait ended.
                    let reached = async move { drop(supervisor.wait_for(next_turn).await) };
                    self.caller.wait_until(until, reached).await
                }
            }
            .map_err(tool_error)?;
        }
        let status = self.status_of(task).await?;
        let path = self.context.log.roster.path(task);
        let head = format!("{path} ({task}): {}", status.describe());
        match (request.since_turn, status.at_rest) {
            (None, true) => {
                // The result may have to be read from the log.
                let context = std::sync::Arc::clone(&self.context);
                let read = tokio::task::spawn_blocking(move || latest_result(&context.log, task)).await;
                let Some(result) = read.map_err(ToolError::failed)? else { return Ok(head) };
                self.caller.mark_reported(task, status.activation);
                Ok(format!("{head}\n{result}"))
            }
            (since, _) => {
                let text = match self.reported_progress(task) {
                    Some(progress) => progress,
                    None => self.text_since(task, since.unwrap_or_default()).await?,
                };
                Ok(if text.is_empty() { head } else { format!("{head}\n{}", self.quote(&text)) })
            }
        }
    }

    pub(super) async fn list_agents(&self) -> Result<String, ToolError> {
        let below = self.tasks_below();
        if below.is_empty() {
            return Ok("no agents or commands have been started".into());
        }
        let mut lines = Vec::new();
        for id in below.iter().take(MAX_LISTED_AGENTS) {
            let status = self.status_of(*id).await?;
            lines.extend(self.context.log.roster.with_task(*id, |entry| {
                let kind = match entry.spec.kind.form() {
                    TaskForm::Agent => entry.spec.agent.as_str(),
                    TaskForm::Command | TaskForm::Reported | TaskForm::Question => entry.spec.kind.label(),
                };
                let model = entry.spec.model.as_ref().map(|model| format!(", {}", model.effective)).unwrap_or_default();
                let intent = entry.intent.as_ref().map(|intent| format!("; {}", one_line(intent, MAX_LINE_BYTES)));
                let (what, intent) = (one_line(&entry.spec.description, MAX_LINE_BYTES), intent.unwrap_or_default());
                format!("{} ({kind}{model}): {}; {what}{intent}", entry.path, status.describe())
            }));
        }
        if below.len() > MAX_LISTED_AGENTS {
            lines.push(format!("and {} more", below.len() - MAX_LISTED_AGENTS));
        }
        // Names, descriptions and intents are text of other models.
        Ok(self.quote(&lines.join("\n")))
    }

    /// Quotes text of other models, within the size limit of a tool result.
    fn quote(&self, text: &str) -> String {
        prompt::quote_within(text, self.context.facts.tools.output_bytes.saturating_sub(QUOTE_MARGIN))
    }

    async fn status_of(&self, task: TaskId) -> Result<SubagentStatus, ToolError> {
        let query = move |kernel: &Kernel| kernel.task(task).map(SubagentStatus::of_task);
        let status = self.caller.supervisor.query(query).await.map_err(ToolError::failed)?;
        status.ok_or_else(|| ToolError::refused("the agent is gone"))
    }

    /// What is reported of a task whose work is elsewhere, such as at an MCP server.
    fn reported_progress(&self, task: TaskId) -> Option<String> {
        let reported = |entry: &RosterEntry| match entry.spec.kind.form() {
            TaskForm::Reported => Some(entry.intent.clone().unwrap_or_default()),
            TaskForm::Agent | TaskForm::Command | TaskForm::Question => None,
        };
        self.context.log.roster.with_task(task, reported).flatten()
    }

    /// An agent's text after a turn, from its log.
    async fn text_since(&self, task: TaskId, since: u32) -> Result<String, ToolError> {
        let context = std::sync::Arc::clone(&self.context);
        let read = move || context.log.reader().and_then(|reader| reader.task_events(task));
        let log = tokio::task::spawn_blocking(read).await.map_err(ToolError::failed)?.map_err(ToolError::failed)?;
        let mut lines = Vec::new();
        for envelope in log {
            let Event::TurnAnswered { turn, content, .. } = envelope.entry.event else { continue };
            if turn.0 <= since {
                continue;
            }
            let texts = content.into_iter().filter_map(|block| match block {
                ContentBlock::Text { text } => Some(text),
                ContentBlock::Call(call) => Some(format!("[calls {}]", call.tool)),
                ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
            });
            lines.push(format!("turn {}: {}", turn.0, texts.collect::<Vec<_>>().join("\n")));
        }
        Ok(Clip::new(&lines.join("\n"), MAX_TEXT_BYTES).into_string())
    }
}
