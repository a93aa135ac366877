//! Turns: one for each message of the client, and one each time a background task wakes the root.

use protocol::api::{AskView, AsksDecideParams, AsksParams, AsksResult, DecideParams, Method, RulesParams};
use protocol::{Ask, AskSubject, CallId, Principal, TaskId};
use rpc::CallError;
use serde_json::{Value, json};

use super::background::{self, BackgroundOutcome};
use super::conversation::ClientConversation;
use super::frames::{self, TurnResult};
use super::mode::ClaudePermissionMode;
use super::own_mail::ReadBy;
use super::permission_requests::ClientDecision;
use super::prompt::ClientPrompt;
use super::structured;
use super::wire::ClientGone;
use crate::decision::fallback_decision;

/// Maximum number of queued messages, and their maximum bytes.
const QUEUE_MAX: (usize, usize) = (1000, 64 * 1024 * 1024);

impl ClientConversation {
    /// Accepts a message of the client.
    pub(super) async fn accept_prompt(&mut self, frame: Value) -> Result<(), ClientGone> {
        let Some(prompt) = ClientPrompt::read(frame) else {
            return self.end_without_turn(TurnResult::Refused("the message is empty".into())).await;
        };
        let queued = || self.queue.iter().chain(&self.held_prompts);
        let bytes = queued().map(ClientPrompt::size).sum::<usize>() + prompt.size();
        if queued().count() >= QUEUE_MAX.0 || bytes > QUEUE_MAX.1 {
            return self
                .end_without_turn(TurnResult::Failed(
                    "too many messages are queued: read the results of earlier ones first".into(),
                ))
                .await;
        }
        self.queue.push_back(prompt);
        self.start_next_turn().await
    }

    /// Starts the turn of the next message, unless one is in progress.
    async fn start_next_turn(&mut self) -> Result<(), ClientGone> {
        if self.is_prompt_pending {
            return Ok(());
        }
        let prompt = loop {
            let Some(prompt) = self.queue.pop_front() else { return Ok(()) };
            if prompt.clears_conversation() {
                self.clearing = Some(prompt);
                return Ok(());
            }
            if prompt.wants_answer() {
                break prompt;
            }
            self.held_prompts.push(prompt);
        };
        let is_slash =
            prompt.slash_command().is_some_and(|(name, _)| self.info.commands.iter().any(|known| known.name == name));
        let prompt = if is_slash { prompt } else { prompt.after(std::mem::take(&mut self.held_prompts)) };
        self.is_prompt_pending = true;
        self.prompt_origin = prompt.origin();
        self.stats.begin_turn();
        self.servers.wait_for_own().await;
        self.send_init().await?;
        self.own_mail.begin_sending();
        self.background.spawn(background::send_prompt(self.api.clone(), prompt, is_slash));
        Ok(())
    }

    /// Sends the result of the message that cleared the conversation before this one, and continues with the next.
    pub(super) async fn answer_clearing(&mut self) -> Result<(), ClientGone> {
        self.send_init().await?;
        self.end_without_turn(TurnResult::Answered(String::new())).await?;
        self.start_next_turn().await
    }

    /// Handles the start of the root's activation.
    pub(super) async fn handle_activation_start(&mut self) -> Result<(), ClientGone> {
        if self.is_prompt_pending {
            return Ok(());
        }
        self.stats.begin_turn();
        self.send_init().await
    }

    /// Begins a turn with what the client may know about the session.
    async fn send_init(&mut self) -> Result<(), ClientGone> {
        let (servers, tools) = self.servers.status().await;
        self.send_frame(frames::init_frame(self.session, &self.info, &servers, &tools)).await?;
        let warning = |content| json!({ "content": content, "level": "warning" });
        let warnings = std::mem::take(&mut self.warnings).into_iter().map(warning);
        let frames = warnings.map(|fields| frames::system_frame(self.session, "informational", fields)).collect();
        self.send_frames(frames).await
    }

    /// Handles the end of the root's activation, which ends a turn.
    pub(super) async fn handle_activation_end(&mut self, result: TurnResult) -> Result<(), ClientGone> {
        let Some(result) = self.with_structured_output(result) else { return Ok(()) };
        let woken = std::mem::take(&mut self.was_woken);
        let has_read = std::mem::take(&mut self.has_read_prompt) || self.was_interrupted_unread(&result);
        // Work left over from a previous process ends before the root reads the client's message: both get one result.
        if self.is_prompt_pending && !has_read && !woken && matches!(result, TurnResult::Answered(_)) {
            return Ok(());
        }
        if result == TurnResult::Interrupted {
            self.send_frame(frames::interrupted_frame(self.session)).await?;
        }
        let origin = match (has_read, woken) {
            (true, _) => self.prompt_origin.take(),
            (false, true) => Some(json!({ "kind": "task-notification" })),
            (false, false) => None,
        };
        let stats = frames::TurnStats { origin, ..self.stats.finish_turn() };
        // The turn of another client's message is not a result of this one.
        if self.own_mail.take_read_of_others() && !has_read && !woken {
            return Ok(());
        }
        self.last_result = Some(result.clone());
        let is_answer = matches!(result, TurnResult::Answered(_) | TurnResult::Structured(_));
        self.send_frame(frames::result_frame(self.session, result, stats)).await?;
        if has_read {
            (self.is_prompt_pending, self.interrupt_when_read) = (false, false);
            if is_answer && self.options.wants_suggestions && self.queue.is_empty() {
                self.background.spawn(background::suggest_prompt(self.api.clone()));
            }
            self.start_next_turn().await?;
        }
        Ok(())
    }

    /// Whether the turn was interrupted before the root read a message. The root is not woken for that message and
    /// reads it with the next one.
    fn was_interrupted_unread(&self, result: &TurnResult) -> bool {
        *result == TurnResult::Interrupted
            && self.is_prompt_pending
            && self.unread_mail.values().any(|from| *from == Principal::User)
    }

    /// The result with structured output, if the client wants it; `None` if the agent is reminded to give it first.
    fn with_structured_output(&mut self, result: TurnResult) -> Option<TurnResult> {
        let Some(structured) = self.structured_output.as_mut().filter(|_| matches!(result, TurnResult::Answered(_)))
        else {
            return Some(result);
        };
        match structured.end_turn() {
            structured::StructuredOutcome::Answer(answer) => Some(TurnResult::Structured(answer)),
            structured::StructuredOutcome::GaveUp(why) => Some(TurnResult::Unstructured(why)),
            // A task woke the root: the client did not ask for an answer.
            structured::StructuredOutcome::Retry(_) if !self.has_read_prompt => Some(result),
            structured::StructuredOutcome::Retry(reminder) => {
                self.background.spawn(background::remind(self.api.clone(), reminder));
                None
            }
        }
    }

    /// Sends the result of a message that led to no activation.
    async fn end_without_turn(&mut self, result: TurnResult) -> Result<(), ClientGone> {
        let stats = frames::TurnStats { origin: self.prompt_origin.take(), ..self.stats.finish_turn() };
        self.last_result = Some(result.clone());
        self.send_frame(frames::result_frame(self.session, result, stats)).await
    }

    /// Handles the outcome of background work.
    pub(super) async fn handle_outcome(&mut self, outcome: BackgroundOutcome) -> Result<(), ClientGone> {
        match outcome {
            BackgroundOutcome::Sent { frame, mail } => {
                if self.own_mail.sent(mail) == ReadBy::Others {
                    self.has_read_prompt = false;
                }
                if let Some(uuid) = frame["uuid"].as_str() {
                    self.sent.insert(uuid.to_owned(), mail);
                }
                if self.options.replays {
                    self.send_frame(frames::replay_frame(self.session, frame, mail)).await?;
                }
                self.handle_unsettled_ends().await
            }
            BackgroundOutcome::Reminded => Ok(()),
            // A suggestion comes too late when the user has said something.
            BackgroundOutcome::Suggested(_) if self.is_prompt_pending => Ok(()),
            BackgroundOutcome::Suggested(suggestion) => {
                self.send_frame(frames::suggestion_frame(self.session, &suggestion)).await
            }
            BackgroundOutcome::NotSuggested => Ok(()),
            BackgroundOutcome::Requested { id, answer } => {
                self.control.respond(&id, answer).await;
                Ok(())
            }
            BackgroundOutcome::CommandOutput(text) => self.end_prompt(TurnResult::Answered(text)).await,
            BackgroundOutcome::Refused(why) => self.end_prompt(TurnResult::Refused(why)).await,
            BackgroundOutcome::Decided { task, ask, verdict } => self.apply_decision(task, *ask, verdict).await,
            BackgroundOutcome::Unanswered => {
                self.is_unanswered = true;
                Ok(())
            }
        }
    }

    /// Handles the ends of activations that waited until it was known whose messages they have read.
    async fn handle_unsettled_ends(&mut self) -> Result<(), ClientGone> {
        for (result, read) in std::mem::take(&mut self.unsettled_ends) {
            let is_own = self.own_mail.settle_read(&read) == ReadBy::Client;
            let has_read_since = std::mem::replace(&mut self.has_read_prompt, is_own);
            Box::pin(self.handle_activation_end(result)).await?;
            self.has_read_prompt |= has_read_since;
        }
        Ok(())
    }

    async fn end_prompt(&mut self, result: TurnResult) -> Result<(), ClientGone> {
        self.own_mail.not_sent();
        self.handle_unsettled_ends().await?;
        self.end_without_turn(result).await?;
        (self.is_prompt_pending, self.interrupt_when_read) = (false, false);
        self.start_next_turn().await?;
        self.send_state().await
    }

    /// Sends an ask to the client, or decides it if the client does not.
    pub(super) async fn send_ask(&mut self, task: TaskId, ask: Ask) -> Result<(), ClientGone> {
        let is_call = matches!(ask.subject, AskSubject::Permission { .. });
        let denies = is_call && self.options.denies_instead_of_asking;
        let decides = self.options.decides || self.decider.is_some();
        if !decides || denies || self.info.mode == ClaudePermissionMode::DontAsk {
            // The process that runs the session has its own client, which may decide.
            if self.info.is_attached {
                return Ok(());
            }
            let denied = ClientDecision {
                decision: ask.subject.default_decision(),
                interrupts: false,
                mode: None,
                rules: Vec::new(),
            };
            return self.apply_decision(task, ask, denied).await;
        }
        let key = (task, ask.call.clone());
        if self.open_asks.contains_key(&key) {
            return Ok(());
        }
        let handle = match self.decider.clone() {
            Some(tool) => self.background.spawn(tool.decide(self.control.clone(), task, ask)),
            None => {
                let agent = (task != self.root).then(|| task.to_string());
                self.background.spawn(background::ask_client(self.control.clone(), task, ask, agent))
            }
        };
        self.open_asks.insert(key, handle);
        Ok(())
    }

    /// Sends the client the asks that were open before it connected.
    pub(super) async fn send_open_asks(&mut self) -> Result<(), ClientGone> {
        let open = self.call::<AsksResult>(Method::AsksList, AsksParams::default()).await;
        let asks = open.map(|result| result.asks).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot list the open asks");
            Vec::new()
        });
        for AskView { task, ask, .. } in asks {
            self.send_ask(task, ask).await?;
        }
        Ok(())
    }

    /// Withdraws an ask that is decided or no longer needed.
    pub(super) fn withdraw_ask(&mut self, task: TaskId, call: &CallId) {
        if let Some(request) = self.open_asks.remove(&(task, call.clone())) {
            request.abort();
        }
    }

    async fn apply_decision(
        &mut self,
        task: TaskId,
        ask: Ask,
        client_decision: ClientDecision,
    ) -> Result<(), ClientGone> {
        self.open_asks.remove(&(task, ask.call.clone()));
        if let Some(mode) =
            client_decision.mode.filter(|mode| *mode != ClaudePermissionMode::Bypass || !self.options.forbids_bypass)
        {
            self.set_mode(mode).await?;
        }
        if !client_decision.rules.is_empty() {
            self.call_or_warn(Method::RulesSet, json!(RulesParams { changes: client_decision.rules })).await;
        }
        let mut next_decision = Some(client_decision.decision);
        while let Some(decision) = next_decision.take() {
            let decided = DecideParams { ask: ask.id.clone(), decision: decision.clone() };
            let params = AsksDecideParams { decided, interrupt: client_decision.interrupts };
            if let Err(error) = self.call::<Value>(Method::AsksDecide, params).await {
                // Another client may have decided first.
                tracing::info!(%error, "the session refused a decision");
                if let CallError::Refused(refusal) = error {
                    next_decision = fallback_decision(decision, &refusal);
                }
            }
        }
        Ok(())
    }

    /// Interrupts the turn.
    pub(super) async fn interrupt(&self) {
        if let Err(error) = self.call::<Value>(Method::SessionInterrupt, json!({})).await {
            tracing::info!(%error, "nothing was interrupted");
        }
    }
}
