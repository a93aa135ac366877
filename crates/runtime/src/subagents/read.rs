//! Looks at agents.

use kernel::{ActivationWork, Kernel, KernelTask};
use protocol::{Activation, Clip, ContentBlock, Event, TaskId, TaskType, WaitMode};
use tools::{ReadAgentRequest, ToolError, WaitLimit};

use super::result_text::{QUOTE_MARGIN, latest_result};
use super::{AgentSubagents, tool_error};
use crate::compact::one_line;
use crate::prompt;

/// Most bytes of what one agent said.
const MAX_TEXT_BYTES: usize = 24 * 1024;

/// Most bytes of a description or an intent.
const MAX_LINE_BYTES: usize = 200;

/// Most agents in one list.
const MAX_LISTED: usize = 100;

/// How one task stands.
struct SubagentStatus {
    state: &'static str,
    turns: u32,
    stalled: bool,
    unread: usize,
    at_rest: bool,
    activation: Activation,
}

impl SubagentStatus {
    fn of_task(task: &KernelTask) -> SubagentStatus {
        SubagentStatus {
            state: task.phase.state().as_str(),
            turns: task.turn.0,
            stalled: task.stalled,
            unread: task.inbox.len(),
            at_rest: task.phase.is_at_rest(),
            activation: task.activation,
        }
    }

    fn describe(&self) -> String {
        let stalled = if self.stalled { ", stalled" } else { "" };
        let unread = if self.unread > 0 { format!(", {} messages unread", self.unread) } else { String::new() };
        format!("{}{stalled}, turn {}{unread}", self.state, self.turns)
    }
}

impl AgentSubagents {
    pub(super) async fn read_agent(&self, order: ReadAgentRequest) -> Result<String, ToolError> {
        let task = self.find_below(&order.agent)?;
        if let WaitLimit::For(time) = order.wait {
            let until = self.context.settings.clock.now().plus(time);
            match order.since_turn {
                None => self.caller.wait(vec![task], WaitMode::All, Some(until)).await,
                Some(since) => self.caller.wait_until(until, self.wait_for_turn(task, since)).await,
            }
            .map_err(tool_error)?;
        }
        let standing = self.status_of(task).await?;
        let path = self.context.roster.path(task);
        let head = format!("{path} ({task}): {}", standing.describe());
        match (order.since_turn, standing.at_rest) {
            (None, true) => {
                // It may have to be read from the log.
                let context = std::sync::Arc::clone(&self.context);
                let read = tokio::task::spawn_blocking(move || latest_result(&context, task)).await;
                let Some(result) = read.map_err(ToolError::broken)? else { return Ok(head) };
                self.caller.mark_reported(task, standing.activation);
                Ok(format!("{head}\n{result}"))
            }
            (since, _) => {
                let said = self.text_since(task, since.unwrap_or_default()).await?;
                Ok(if said.is_empty() { head } else { format!("{head}\n{}", self.quote(&said)) })
            }
        }
    }

    pub(super) async fn list_agents(&self) -> Result<String, ToolError> {
        let below = self.below();
        if below.is_empty() {
            return Ok("no agent or command was started".into());
        }
        let mut lines = Vec::new();
        for id in below.iter().take(MAX_LISTED) {
            let standing = self.status_of(*id).await?;
            lines.extend(self.context.roster.with_task(*id, |known| {
                let kind = if known.spec.kind == TaskType::Shell { "command" } else { known.spec.agent.as_str() };
                let model = known.spec.model.as_ref().map(|model| format!(", {}", model.effective)).unwrap_or_default();
                let intent = known.intent.as_ref().map(|intent| format!("; {}", one_line(intent, MAX_LINE_BYTES)));
                let (what, intent) = (one_line(&known.spec.description, MAX_LINE_BYTES), intent.unwrap_or_default());
                format!("{} ({kind}{model}): {}; {what}{intent}", known.path, standing.describe())
            }));
        }
        if below.len() > MAX_LISTED {
            lines.push(format!("and {} more", below.len() - MAX_LISTED));
        }
        // Names, descriptions and intents are other models' words.
        Ok(self.quote(&lines.join("\n")))
    }

    /// What other models wrote, in as many bytes as an answer may have.
    fn quote(&self, text: &str) -> String {
        prompt::quote_within(text, self.context.settings.tools.output.saturating_sub(QUOTE_MARGIN))
    }

    async fn status_of(&self, task: TaskId) -> Result<SubagentStatus, ToolError> {
        let look = move |kernel: &Kernel| kernel.task(task).map(SubagentStatus::of_task);
        let standing = self.caller.supervisor.query(look).await.map_err(ToolError::broken)?;
        standing.ok_or_else(|| ToolError::refused("the agent is gone"))
    }

    /// Waits until an agent has answered after a turn, or rests and will not.
    async fn wait_for_turn(&self, task: TaskId, since: u32) {
        // Whatever happens from here on is heard, so that nothing is missed after the look.
        let mut stirrings = self.context.bus.task_activity();
        let is_there = move |kernel: &Kernel| {
            kernel.task(task).is_none_or(|task| {
                let asking = u32::from(matches!(task.work, ActivationWork::Asking { .. }));
                let answered = task.turn.0.saturating_sub(asking);
                answered > since || task.phase.is_at_rest()
            })
        };
        while let Ok(false) = self.caller.supervisor.query(is_there).await {
            if !stirrings.wait_for(task).await {
                return;
            }
        }
    }

    /// What an agent said after a turn, from its log.
    async fn text_since(&self, task: TaskId, since: u32) -> Result<String, ToolError> {
        let context = std::sync::Arc::clone(&self.context);
        let read = move || context.reader().and_then(|reader| reader.task_events(task));
        let log = tokio::task::spawn_blocking(read).await.map_err(ToolError::broken)?.map_err(ToolError::broken)?;
        let mut said = Vec::new();
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
            said.push(format!("turn {}: {}", turn.0, texts.collect::<Vec<_>>().join("\n")));
        }
        Ok(Clip::new(&said.join("\n"), MAX_TEXT_BYTES).into_string())
    }
}
