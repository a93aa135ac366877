//! Looks at agents.

use kernel::{Kernel, Task, Work};
use protocol::{Activation, Block, Clip, Event, Kind, TaskId, WaitMode};
use tools::{ReadOrder, ToolError, Wait};

use super::words::{HEAD, result};
use super::{Crew, refused};
use crate::compact::one_line;
use crate::prompt;

/// Most bytes of what one agent said.
const SAID: usize = 24 * 1024;

/// Most bytes of a description or an intent.
const LINE: usize = 200;

/// Most agents in one list.
const LISTED: usize = 100;

/// How one task stands.
struct Standing {
    state: &'static str,
    turns: u32,
    stalled: bool,
    unread: usize,
    at_rest: bool,
    activation: Activation,
}

impl Standing {
    fn of(task: &Task) -> Standing {
        Standing {
            state: task.phase.state().word(),
            turns: task.turn.0,
            stalled: task.stalled,
            unread: task.inbox.len(),
            at_rest: task.phase.is_at_rest(),
            activation: task.activation,
        }
    }

    fn words(&self) -> String {
        let stalled = if self.stalled { ", stalled" } else { "" };
        let unread = if self.unread > 0 { format!(", {} messages unread", self.unread) } else { String::new() };
        format!("{}{stalled}, turn {}{unread}", self.state, self.turns)
    }
}

impl Crew {
    pub(super) async fn read_agent(&self, order: ReadOrder) -> Result<String, ToolError> {
        let task = self.find_below(&order.agent)?;
        if let Wait::For(time) = order.wait {
            let until = self.desk.settings.clock.now().plus(time);
            match order.since_turn {
                None => self.caller.wait(vec![task], WaitMode::All, Some(until)).await,
                Some(since) => self.caller.wait_until(until, self.turn_after(task, since)).await,
            }
            .map_err(refused)?;
        }
        let standing = self.standing(task).await?;
        let path = self.desk.roster.path(task);
        let head = format!("{path} ({task}): {}", standing.words());
        match (order.since_turn, standing.at_rest) {
            (None, true) => {
                // It may have to be read from the log.
                let desk = std::sync::Arc::clone(&self.desk);
                let read = tokio::task::spawn_blocking(move || result(&desk, task)).await;
                let Some(result) = read.map_err(ToolError::broken)? else { return Ok(head) };
                self.caller.tells(task, standing.activation);
                Ok(format!("{head}\n{result}"))
            }
            (since, _) => {
                let said = self.said(task, since.unwrap_or_default()).await?;
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
        for id in below.iter().take(LISTED) {
            let standing = self.standing(*id).await?;
            lines.extend(self.desk.roster.known(*id, |known| {
                let kind = if known.spec.kind == Kind::Shell { "command" } else { known.spec.agent.as_str() };
                let model = known.spec.model.as_ref().map(|model| format!(", {}", model.effective)).unwrap_or_default();
                let intent = known.intent.as_ref().map(|intent| format!("; {}", one_line(intent, LINE)));
                let (what, intent) = (one_line(&known.spec.description, LINE), intent.unwrap_or_default());
                format!("{} ({kind}{model}): {}; {what}{intent}", known.path, standing.words())
            }));
        }
        if below.len() > LISTED {
            lines.push(format!("and {} more", below.len() - LISTED));
        }
        // Names, descriptions and intents are other models' words.
        Ok(self.quote(&lines.join("\n")))
    }

    /// What other models wrote, in as many bytes as an answer may have.
    fn quote(&self, text: &str) -> String {
        prompt::quote_within(text, self.desk.settings.tools.output.saturating_sub(HEAD))
    }

    async fn standing(&self, task: TaskId) -> Result<Standing, ToolError> {
        let look = move |kernel: &Kernel| kernel.task(task).map(Standing::of);
        let standing = self.caller.supervisor.look(look).await.map_err(ToolError::broken)?;
        standing.ok_or_else(|| ToolError::refused("the agent is gone"))
    }

    /// Waits until an agent has answered after a turn, or rests and will not.
    async fn turn_after(&self, task: TaskId, since: u32) {
        // Whatever happens from here on is heard, so that nothing is missed after the look.
        let mut stirrings = self.desk.bus.stirrings();
        let is_there = move |kernel: &Kernel| {
            kernel.task(task).is_none_or(|task| {
                let asking = u32::from(matches!(task.work, Work::Asking { .. }));
                let answered = task.turn.0.saturating_sub(asking);
                answered > since || task.phase.is_at_rest()
            })
        };
        while let Ok(false) = self.caller.supervisor.look(is_there).await {
            if !stirrings.of(task).await {
                return;
            }
        }
    }

    /// What an agent said after a turn, from its log.
    async fn said(&self, task: TaskId, since: u32) -> Result<String, ToolError> {
        let desk = std::sync::Arc::clone(&self.desk);
        let read = move || desk.reader().and_then(|reader| reader.task_events(task));
        let log = tokio::task::spawn_blocking(read).await.map_err(ToolError::broken)?.map_err(ToolError::broken)?;
        let mut said = Vec::new();
        for envelope in log {
            let Event::TurnAnswered { turn, content, .. } = envelope.entry.event else { continue };
            if turn.0 <= since {
                continue;
            }
            let texts = content.into_iter().filter_map(|block| match block {
                Block::Text { text } => Some(text),
                Block::Call(call) => Some(format!("[calls {}]", call.tool)),
                Block::Thinking { .. } | Block::Opaque { .. } => None,
            });
            said.push(format!("turn {}: {}", turn.0, texts.collect::<Vec<_>>().join("\n")));
        }
        Ok(Clip::new(&said.join("\n"), SAID).into_string())
    }
}
