//! What becomes durable together with an answer, so that it takes one commit less: the start of its only call, when it
//! is clear that this may run, or the end of the activation. Whatever is not clear goes the usual way.

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

/// How long an answer waits for its call to be judged: it is paid for, and a file system may hang.
const MAX_JUDGE_WAIT: Duration = Duration::from_millis(500);

/// A call that starts with its answer, and what it was judged to be.
#[derive(Debug, Clone)]
pub(super) struct EarlyCall {
    pub(super) call: CallId,
    pub(super) judgement: CallPermission,
}

/// How an answer goes on, as far as that is clear before it is durable.
pub(super) enum AnswerFollowUp {
    /// Its call starts.
    StartCall(EarlyCall),
    /// The activation ends with these words.
    EndActivation(String),
    /// That is seen when it is durable.
    Undecided,
}

impl AgentRun {
    /// How this answer goes on.
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

    /// Reports an answer with how it goes on. What comes with the answer may be refused alone.
    pub(super) async fn report_with_follow_up(
        &mut self,
        turn: Turn,
        answer: RunUpdate,
        onward: &AnswerFollowUp,
    ) -> (Result<(), InputRejection>, Result<(), InputRejection>) {
        let next = match onward {
            AnswerFollowUp::StartCall(early) => RunUpdate::CallStarted { turn, call: early.call.clone() },
            AnswerFollowUp::EndActivation(text) => {
                RunUpdate::Ended { ending: RunEnding::Completed, text: text.clone() }
            }
            AnswerFollowUp::Undecided => return (self.report(answer).await, Ok(())),
        };
        let both = self.link.supervisor.report_both(self.link.run, answer, next).await;
        both.unwrap_or_else(|rejected| (Err(rejected), Ok(())))
    }

    /// The call as it will be in the log, if nobody has to be heard before it runs: no hook, no person, and no guard
    /// against repeating it. A call that starts an agent starts with that.
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

    /// The last words, if nothing is looked at before the activation ends. Mail that waits keeps it from ending.
    fn early_end(&self, content: &[ContentBlock], stop: StopReason) -> Option<String> {
        let is_expected = |known: &crate::roster::RosterEntry| known.spec.expects.is_some();
        let is_expected = self.context.roster.with_task(self.link.run.task, is_expected).unwrap_or(true);
        let is_isolated = self.context.task_workspaces.checkout(self.link.run.task).is_some();
        let is_looked_at = is_expected || is_isolated || self.has_run_start_hooks() || self.suggests_prompts();
        match stop {
            StopReason::End | StopReason::Calls | StopReason::Refusal if !is_looked_at => answer_text(content),
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
