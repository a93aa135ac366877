//! The calls of an answer.

use std::sync::Arc;

use kernel::{InputRefusal, RunEnding, RunUpdate};
use protocol::{FailKind, ToolCallRequest};

use super::call::{CallContext, run_calls};
use super::open_call::TurnEnd;
use super::repeat_guard;
use super::run::{InterruptibleOutcome, StepOutcome};
use super::{AgentRun, OpenCall};
use crate::conversation::Conversation;
use crate::hooks::{self, HookHalt, PendingPostHook, PendingPostHooks};
use crate::run_requests::RunInput;
use crate::supervisor::InputRejection;

impl AgentRun {
    /// Runs the open calls.
    pub(super) async fn run_open_calls(&mut self) -> Result<StepOutcome, InputRejection> {
        let repeated = match repeat_guard::repeated_calls(self.agent.model.facts(), &self.conversation) {
            Ok(repeated) => repeated,
            Err(error) => {
                let (kind, message) = (FailKind::NoAnswer, error.to_string());
                return self.end(RunEnding::Failed { kind, message }).await;
            }
        };
        let (halt, turn_end) = (HookHalt::default(), TurnEnd::default());
        let with_caller = |call: ToolCallRequest| {
            let open = self.open_call(&call, &halt, &turn_end);
            (call, open)
        };
        let calls = self.conversation.open_calls().into_iter().map(with_caller).collect();
        let pending = PendingPostHooks::default();
        let early = self.early_call.take();
        let call_context = CallContext {
            workplace: Arc::clone(&self.workplace),
            catalog: Arc::clone(&self.catalog),
            agent: Arc::clone(&self.agent),
            stamps: Arc::clone(&self.memory.stamps),
            heartbeat: self.link.heartbeat.clone(),
            repeated,
            pending_post_hooks: pending.clone(),
            early,
        };
        let run = async move { run_calls(&call_context, calls).await };
        match self.before_deadline(Conversation::has_open_calls, run).await {
            // An interrupt has closed the calls; the supervisor answers this report after the events of the interrupt.
            // A call that cannot be answered for another reason is dropped as well: nothing else would end it.
            Some(InterruptibleOutcome::Finished(Err(InputRejection::Refused(
                InputRefusal::WrongTurn | InputRefusal::WrongCallPhase(_),
            )))) => self.cancel_open_calls().await?,
            Some(InterruptibleOutcome::Finished(answered)) => answered?,
            Some(InterruptibleOutcome::Interrupted) if self.conversation.has_open_calls() => {
                self.cancel_open_calls().await?
            }
            Some(InterruptibleOutcome::Interrupted) => {}
            None => self.cancel_open_calls().await?,
        }
        self.run_pending_post_hooks(pending.take_all()).await;
        if turn_end.is_requested() {
            let ended = self.link.session.submit(vec![RunInput::Interrupt]).await;
            ended.into_iter().collect::<Result<(), InputRejection>>()?;
        }
        match halt.reason() {
            Some(reason) => {
                let (kind, message) = (FailKind::Denied, format!("a hook stopped the agent: {reason}"));
                self.end(RunEnding::Failed { kind, message }).await
            }
            None => Ok(StepOutcome::Continue),
        }
    }

    /// Runs the post-tool hooks of calls that were answered in the step that started them.
    async fn run_pending_post_hooks(&mut self, pending: Vec<PendingPostHook>) {
        self.catch_up();
        for pending in pending {
            let answers = match self.conversation.messages().last() {
                Some(model::ModelMessage::Answers { answers }) => answers.as_slice(),
                Some(model::ModelMessage::User { .. } | model::ModelMessage::Assistant { .. }) | None => &[],
            };
            let answer = answers.iter().find(|(id, _)| *id == pending.call.id).map(|(_, answer)| answer.clone());
            if let Some(answer) = answer {
                hooks::after_answered_call(&self.workplace, pending, &answer).await;
            }
        }
    }

    /// Ends the open calls, all with one report: some may wait for other tasks, and some answers may be on their way.
    pub(super) async fn cancel_open_calls(&mut self) -> Result<(), InputRejection> {
        let turn = self.conversation.turn();
        self.report(RunUpdate::CallsOutOfTime { turn }).await
    }

    fn open_call(&self, call: &ToolCallRequest, halt: &HookHalt, turn_end: &TurnEnd) -> OpenCall {
        OpenCall {
            session: Arc::clone(&self.link.session),
            run: self.link.run,
            turn: self.conversation.turn(),
            call: call.id.clone(),
            halt: halt.clone(),
            turn_end: turn_end.clone(),
        }
    }
}
