//! Commits an answer together with what follows it, to save a commit: the start of its only call, if that call is
//! certain to be allowed, or the end of the activation. Otherwise each takes its own commit.

use std::sync::Arc;
use std::time::Duration;

use kernel::{RunEnding, RunUpdate};
use protocol::{CallId, ContentBlock, HookEvent, RuleEffect, StopReason, ToolCallRequest, Turn};
use tools::ToolAccess;

use super::AgentRun;
use super::run::InterruptibleOutcome;
use crate::conversation::{Conversation, answer_text};
use crate::permission_check::{self, CallPermission};
use crate::supervisor::InputRejection;

/// How long the commit of an answer waits for the permission check of its call. The check reads files and may hang, and
/// an answer that is not committed is lost although it was paid for.
const MAX_JUDGE_WAIT: Duration = Duration::from_millis(500);

/// A call whose start is committed with the model's answer, and its permission.
#[derive(Debug, Clone)]
pub(super) struct EarlyCall {
    pub(super) call: CallId,
    pub(super) permission: CallPermission,
}

/// What follows an answer, as far as that is certain before the answer is committed.
pub(super) enum AnswerFollowUp {
    /// The call starts.
    StartCall(EarlyCall),
    /// The activation ends with this text.
    EndActivation(String),
    /// Decided after the answer is committed.
    Undecided,
}

impl AgentRun {
    /// Decides what follows this answer.
    pub(super) async fn plan_follow_up(&mut self, content: &[ContentBlock], stop: StopReason) -> AnswerFollowUp {
        if self.stopping || self.deadline.is_over() || self.conversation.wrap_up().is_some() {
            return AnswerFollowUp::Undecided;
        }
        let mut calls = content.iter().filter_map(as_call);
        match (calls.next(), calls.next()) {
            (Some(call), None) => {
                self.plan_early_start(call.clone()).await.map_or(AnswerFollowUp::Undecided, AnswerFollowUp::StartCall)
            }
            (Some(_), Some(_)) => AnswerFollowUp::Undecided,
            (None, _) => {
                self.plan_early_end(content, stop).map_or(AnswerFollowUp::Undecided, AnswerFollowUp::EndActivation)
            }
        }
    }

    /// Reports an answer with its follow-up and returns the results of both. The kernel may accept the answer but
    /// refuse the follow-up.
    pub(super) async fn report_with_follow_up(
        &mut self,
        turn: Turn,
        answer: RunUpdate,
        follow_up: &AnswerFollowUp,
    ) -> (Result<(), InputRejection>, Result<(), InputRejection>) {
        let next = match follow_up {
            AnswerFollowUp::StartCall(early) => RunUpdate::CallStarted { turn, call: early.call.clone() },
            AnswerFollowUp::EndActivation(text) => {
                RunUpdate::Ended { ending: RunEnding::Completed, text: text.clone() }
            }
            AnswerFollowUp::Undecided => return (self.report(answer).await, Ok(())),
        };
        let [answer, next] = self.session().report_both(answer, next).await;
        (answer, next)
    }

    /// Returns the call if it can start at once: no hook runs first, the user is not asked, and the model is not a
    /// small one, whose calls `repeat_guard` checks first. A call that starts an agent is left out: its start is
    /// committed with that of the agent.
    async fn plan_early_start(&mut self, mut call: ToolCallRequest) -> Option<EarlyCall> {
        let (workplace, prepared) = (Arc::clone(&self.workplace), Arc::clone(&self.agent));
        if prepared.model.facts().tier != model::ModelTier::Capable
            || self.session().has_hook(HookEvent::PreToolUse).await
        {
            return None;
        }
        workplace.redactor.redact_text(&mut call.input);
        let tool = prepared.tool(&call.tool).filter(|tool| tool.spec().access != ToolAccess::Agent)?;
        let judging =
            tokio::time::timeout(MAX_JUDGE_WAIT, permission_check::judge_call(&workplace, &prepared, &tool, &call));
        // An interrupt that closes the turn ends the check too.
        match self.before_deadline(Conversation::is_awaiting_answer, judging).await {
            Some(InterruptibleOutcome::Finished(Ok(Ok(judgement))))
                if judgement.verdict.effect == RuleEffect::Allow =>
            {
                Some(EarlyCall { call: call.id, permission: judgement })
            }
            Some(InterruptibleOutcome::Finished(_) | InterruptibleOutcome::Interrupted) | None => None,
        }
    }

    /// Returns the final text if nothing else is done before the activation ends. Mail is not considered here: the
    /// kernel refuses the end if mail must be read first.
    fn plan_early_end(&self, content: &[ContentBlock], stop: StopReason) -> Option<String> {
        let has_expectations = self.profile.spec.expects.is_some();
        let is_isolated = self.profile.has_own_checkout();
        // Stop hooks run only in an activation whose start hooks ran.
        let has_stop_hooks = self.has_run_start_hooks();
        let has_final_steps = has_expectations || is_isolated || has_stop_hooks || self.suggests_prompts();
        match stop {
            StopReason::End | StopReason::Calls | StopReason::Refusal if !has_final_steps => answer_text(content),
            StopReason::End | StopReason::Calls | StopReason::Refusal | StopReason::Length => None,
        }
    }
}

fn as_call(block: &ContentBlock) -> Option<&ToolCallRequest> {
    match block {
        ContentBlock::Call(call) => Some(call),
        ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
    }
}
