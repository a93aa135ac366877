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

/// How long an answer waits for the permission check of its call: it is paid for, and a file system may hang.
const MAX_JUDGE_WAIT: Duration = Duration::from_millis(500);

/// A call that starts with its answer, and its permission.
#[derive(Debug, Clone)]
pub(super) struct EarlyCall {
    pub(super) call: CallId,
    pub(super) judgement: CallPermission,
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
        let mut calls = content.iter().filter_map(call_of);
        match (calls.next(), calls.next()) {
            (Some(call), None) => {
                self.early_start(call.clone()).await.map_or(AnswerFollowUp::Undecided, AnswerFollowUp::StartCall)
            }
            (Some(_), Some(_)) => AnswerFollowUp::Undecided,
            (None, _) => self.early_end(content, stop).map_or(AnswerFollowUp::Undecided, AnswerFollowUp::EndActivation),
        }
    }

    /// Reports an answer with its follow-up. The kernel may refuse the follow-up alone.
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
        let both = self.link.supervisor.report_both(self.link.run, answer, next).await;
        both.unwrap_or_else(|rejected| (Err(rejected), Ok(())))
    }

    /// Returns the call if it can start at once: no hook, no ask and no repeat guard comes first. A call that starts an
    /// agent starts with that agent instead.
    async fn early_start(&mut self, mut call: ToolCallRequest) -> Option<EarlyCall> {
        let (context, prepared) = (Arc::clone(&self.context), Arc::clone(&self.agent));
        if prepared.model.facts().tier != model::ModelTier::Capable
            || context.may_have_hook_for(self.link.run.task, HookEvent::PreToolUse)
        {
            return None;
        }
        context.redactor.redact_text(&mut call.input);
        let tool = prepared.tool(&call.tool).filter(|tool| tool.spec().access != ToolAccess::Agent)?;
        let judging =
            tokio::time::timeout(MAX_JUDGE_WAIT, permission_check::judge_call(&context, &prepared, tool, &call));
        match self.before_deadline(Conversation::is_asking, judging).await {
            Some(InterruptibleOutcome::Finished(Ok(Ok(judgement))))
                if judgement.verdict.effect == RuleEffect::Allow =>
            {
                Some(EarlyCall { call: call.id, judgement })
            }
            Some(InterruptibleOutcome::Finished(_) | InterruptibleOutcome::Interrupted) | None => None,
        }
    }

    /// Returns the final text if nothing is checked before the activation ends. Waiting mail keeps it from ending.
    fn early_end(&self, content: &[ContentBlock], stop: StopReason) -> Option<String> {
        let is_expected = |known: &crate::roster::RosterEntry| known.spec.expects.is_some();
        let is_expected = self.context.roster.with_task(self.link.run.task, is_expected).unwrap_or(true);
        let is_isolated = self.context.task_workspaces.checkout(self.link.run.task).is_some();
        let is_checked = is_expected || is_isolated || self.has_run_start_hooks() || self.suggests_prompts();
        match stop {
            StopReason::End | StopReason::Calls | StopReason::Refusal if !is_checked => answer_text(content),
            StopReason::End | StopReason::Calls | StopReason::Refusal | StopReason::Length => None,
        }
    }
}

fn call_of(block: &ContentBlock) -> Option<&ToolCallRequest> {
    match block {
        ContentBlock::Call(call) => Some(call),
        ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
    }
}
