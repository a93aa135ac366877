//! Turns: each message of the client's is one, and so is each time that the root is woken by what it left running.

use protocol::api::{AskView, AsksDecideParams, AsksParams, AsksResult, DecideParams, Method, RulesParams};
use protocol::{Ask, CallId, Principal, TaskId};
use rpc::CallError;
use serde_json::{Value, json};

use super::background::{self, BackgroundOutcome};
use super::conversation::ClientConversation;
use super::frames::{self, TurnResult};
use super::mode::ClaudePermissionMode;
use super::permission_requests::ClientDecision;
use super::prompt::ClientPrompt;
use super::structured;
use super::wire::ClientGone;
use crate::decision::fallback_decision;

/// Most messages that wait, and most bytes of them.
const QUEUE_MAX: (usize, usize) = (1000, 64 * 1024 * 1024);

impl ClientConversation {
    /// Takes a message of the client's.
    pub(super) async fn prompt(&mut self, frame: Value) -> Result<(), ClientGone> {
        let Some(prompt) = ClientPrompt::read(frame) else {
            return self.end(TurnResult::Refused("the message says nothing".into())).await;
        };
        let bytes = self.queue.iter().map(ClientPrompt::size).sum::<usize>() + prompt.size();
        if self.queue.len() >= QUEUE_MAX.0 || bytes > QUEUE_MAX.1 {
            return self
                .end(TurnResult::Failed("too many messages wait: read the results of the earlier ones".into()))
                .await;
        }
        self.queue.push_back(prompt);
        self.next_turn().await
    }

    /// Begins the turn of the next message, unless one is under way.
    async fn next_turn(&mut self) -> Result<(), ClientGone> {
        if self.is_prompt_pending {
            return Ok(());
        }
        let Some(prompt) = self.queue.pop_front() else { return Ok(()) };
        self.is_prompt_pending = true;
        self.stats.begin_turn();
        self.show(frames::init_frame(self.session, &self.info)).await?;
        let is_slash =
            prompt.slash_command().is_some_and(|(name, _)| self.info.commands.iter().any(|known| known.name == name));
        self.background.spawn(background::send_prompt(self.api.clone(), prompt, is_slash));
        Ok(())
    }

    /// The root begins to work.
    pub(super) async fn began(&mut self) -> Result<(), ClientGone> {
        if self.is_prompt_pending {
            return Ok(());
        }
        self.stats.begin_turn();
        self.show(frames::init_frame(self.session, &self.info)).await
    }

    /// The root's activation is over, and so is a turn.
    pub(super) async fn ended(&mut self, ending: TurnResult) -> Result<(), ClientGone> {
        let Some(ending) = self.formed(ending) else { return Ok(()) };
        let woken = std::mem::take(&mut self.was_woken);
        let heard = std::mem::take(&mut self.has_read_prompt) || self.is_cut(&ending);
        // What an earlier life left undone ends before the client's message is read: one result is for both.
        if self.is_prompt_pending && !heard && !woken && matches!(ending, TurnResult::Answered(_)) {
            return Ok(());
        }
        if ending == TurnResult::Interrupted {
            self.show(frames::interrupted(self.session)).await?;
        }
        let figures = frames::TurnStats { is_wake_up: woken && !heard, ..self.stats.finish_turn() };
        self.last_result = Some(ending.clone());
        self.show(frames::result_frame(self.session, ending, figures)).await?;
        if heard {
            (self.is_prompt_pending, self.interrupt_when_read) = (false, false);
            self.next_turn().await?;
        }
        Ok(())
    }

    /// Whether the turn was broken off with a message that the root had not read: nobody wakes it for that message, which
    /// is read with the next.
    fn is_cut(&self, ending: &TurnResult) -> bool {
        *ending == TurnResult::Interrupted
            && self.is_prompt_pending
            && self.unread_mail.values().any(|from| *from == Principal::User)
    }

    /// The ending with an answer of the form that the client wants; nothing if the agent is told to give it first.
    fn formed(&mut self, ending: TurnResult) -> Option<TurnResult> {
        let Some(structured) = self.structured.as_mut().filter(|_| matches!(ending, TurnResult::Answered(_))) else {
            return Some(ending);
        };
        match structured.end() {
            structured::StructuredOutcome::Answer(answer) => Some(TurnResult::Structured(answer)),
            structured::StructuredOutcome::GaveUp(why) => Some(TurnResult::Unstructured(why)),
            // Nobody asked for what a task woke it for.
            structured::StructuredOutcome::Retry(_) if !self.has_read_prompt => Some(ending),
            structured::StructuredOutcome::Retry(words) => {
                self.background.spawn(background::remind(self.api.clone(), words));
                None
            }
        }
    }

    /// A message led to no activation.
    async fn end(&mut self, ending: TurnResult) -> Result<(), ClientGone> {
        let figures = self.stats.finish_turn();
        self.last_result = Some(ending.clone());
        self.show(frames::result_frame(self.session, ending, figures)).await
    }

    /// Background work is done.
    pub(super) async fn came_back(&mut self, outcome: BackgroundOutcome) -> Result<(), ClientGone> {
        match outcome {
            BackgroundOutcome::Sent { frame } => match self.options.replays {
                true => self.show(frames::replayed(self.session, frame)).await,
                false => Ok(()),
            },
            BackgroundOutcome::Reminded => Ok(()),
            BackgroundOutcome::CommandOutput(text) => self.passed(TurnResult::Answered(text)).await,
            BackgroundOutcome::Refused(why) => self.passed(TurnResult::Refused(why)).await,
            BackgroundOutcome::Decided { task, ask, verdict } => self.decided(task, *ask, verdict).await,
            BackgroundOutcome::Unanswered => {
                self.is_unanswered = true;
                Ok(())
            }
        }
    }

    async fn passed(&mut self, ending: TurnResult) -> Result<(), ClientGone> {
        self.end(ending).await?;
        (self.is_prompt_pending, self.interrupt_when_read) = (false, false);
        self.next_turn().await?;
        self.show_state().await
    }

    /// Something waits for a decision.
    pub(super) async fn ask(&mut self, task: TaskId, ask: Ask) -> Result<(), ClientGone> {
        if !self.options.decides || self.info.mode == ClaudePermissionMode::DontAsk {
            // Whoever runs the session has a client of its own, which may decide.
            if self.info.is_attached {
                return Ok(());
            }
            let no = ClientDecision {
                decision: ask.subject.default_decision(),
                interrupts: false,
                mode: None,
                rules: Vec::new(),
            };
            return self.decided(task, ask, no).await;
        }
        let key = (task, ask.call.clone());
        if self.open_asks.contains_key(&key) {
            return Ok(());
        }
        let agent = (task != self.root).then(|| task.to_string());
        let handle = self.background.spawn(background::ask_client(self.control.clone(), task, ask, agent));
        self.open_asks.insert(key, handle);
        Ok(())
    }

    /// What waited for a decision before this client came is put to it.
    pub(super) async fn ask_again(&mut self) -> Result<(), ClientGone> {
        let open = self.call::<AsksResult>(Method::AsksList, AsksParams::default()).await;
        let asks = open.map(|result| result.asks).unwrap_or_else(|error| {
            tracing::warn!(%error, "what waits for a decision cannot be listed");
            Vec::new()
        });
        for AskView { task, ask, .. } in asks {
            self.ask(task, ask).await?;
        }
        Ok(())
    }

    /// What was asked is decided, or nobody needs it decided any more.
    pub(super) fn withdraw(&mut self, task: TaskId, call: &CallId) {
        if let Some(asking) = self.open_asks.remove(&(task, call.clone())) {
            asking.abort();
        }
    }

    async fn decided(&mut self, task: TaskId, ask: Ask, verdict: ClientDecision) -> Result<(), ClientGone> {
        self.open_asks.remove(&(task, ask.call.clone()));
        if let Some(mode) =
            verdict.mode.filter(|mode| *mode != ClaudePermissionMode::Bypass || !self.options.forbids_bypass)
        {
            self.set_mode(mode).await?;
        }
        if !verdict.rules.is_empty() {
            self.tell(Method::RulesSet, json!(RulesParams { changes: verdict.rules })).await;
        }
        let mut next = Some(verdict.decision);
        while let Some(decision) = next.take() {
            let decided = DecideParams { ask: ask.id.clone(), decision: decision.clone() };
            let params = AsksDecideParams { decided, interrupt: verdict.interrupts };
            if let Err(error) = self.call::<Value>(Method::AsksDecide, params).await {
                // Another client may have been faster.
                tracing::info!(%error, "a decision was not taken");
                if let CallError::Refused(refusal) = error {
                    next = fallback_decision(decision, &refusal);
                }
            }
        }
        Ok(())
    }

    /// Breaks the turn off.
    pub(super) async fn interrupt(&self) {
        if let Err(error) = self.call::<Value>(Method::SessionInterrupt, json!({})).await {
            tracing::info!(%error, "nothing was interrupted");
        }
    }
}
