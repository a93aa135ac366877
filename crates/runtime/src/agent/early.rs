//! What becomes durable together with an answer, so that it takes one commit less: the start of its only call, when it
//! is clear that this may run, or the end of the activation. Whatever is not clear goes the usual way.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Ending, Report};
use protocol::{Block, Call, CallId, HookEvent, RuleEffect, StopReason, Turn};
use tools::Access;

use super::AgentRun;
use super::run::Broken;
use crate::conversation::{Conversation, said_in};
use crate::permit::{self, Judgement};
use crate::supervisor::Rejected;

/// How long an answer waits for its call to be judged: it is paid for, and a file system may hang.
const PATIENCE: Duration = Duration::from_millis(500);

/// A call that starts with its answer, and what it was judged to be.
#[derive(Debug, Clone)]
pub(super) struct Early {
    pub(super) call: CallId,
    pub(super) judgement: Judgement,
}

/// How an answer goes on, as far as that is clear before it is durable.
pub(super) enum Onward {
    /// Its call starts.
    Start(Early),
    /// The activation ends with these words.
    End(String),
    /// That is seen when it is durable.
    Unclear,
}

impl AgentRun {
    /// How this answer goes on.
    pub(super) async fn onward(&mut self, content: &[Block], stop: StopReason) -> Onward {
        if self.stopping || self.deadline.is_over() || self.conversation.wrap_up().is_some() {
            return Onward::Unclear;
        }
        let mut calls = content.iter().filter_map(call_of);
        match (calls.next(), calls.next()) {
            (Some(call), None) => self.start_of(call.clone()).await.map_or(Onward::Unclear, Onward::Start),
            (Some(_), Some(_)) => Onward::Unclear,
            (None, _) => self.end_of(content, stop).map_or(Onward::Unclear, Onward::End),
        }
    }

    /// Reports an answer with how it goes on. What comes with the answer may be refused alone.
    pub(super) async fn report_onward(
        &mut self,
        turn: Turn,
        answer: Report,
        onward: &Onward,
    ) -> (Result<(), Rejected>, Result<(), Rejected>) {
        let next = match onward {
            Onward::Start(early) => Report::CallStarted { turn, call: early.call.clone() },
            Onward::End(text) => Report::Ended { ending: Ending::Completed, text: text.clone() },
            Onward::Unclear => return (self.report(answer).await, Ok(())),
        };
        let both = self.link.supervisor.report_both(self.link.run, answer, next).await;
        both.unwrap_or_else(|rejected| (Err(rejected), Ok(())))
    }

    /// The call as it will be in the log, if nobody has to be heard before it runs: no hook, no person, and no guard
    /// against repeating it. A call that starts an agent starts with that.
    async fn start_of(&mut self, mut call: Call) -> Option<Early> {
        let (desk, outfit) = (Arc::clone(&self.desk), Arc::clone(&self.outfit));
        if outfit.model.facts().skill != model::Skill::Able
            || desk.is_told_of(self.link.run.task, HookEvent::PreToolUse)
        {
            return None;
        }
        desk.redactor.text(&mut call.input);
        let tool = outfit.tool(&call.tool).filter(|tool| tool.spec().access != Access::Agent)?;
        let judging = tokio::time::timeout(PATIENCE, permit::judge(&desk, &outfit, tool, &call));
        match self.in_time(Conversation::is_asking, judging).await {
            Some(Broken::Done(Ok(Ok(judgement)))) if judgement.verdict.effect == RuleEffect::Allow => {
                Some(Early { call: call.id, judgement })
            }
            Some(Broken::Done(_) | Broken::Off) | None => None,
        }
    }

    /// The last words, if nothing is looked at before the activation ends. Mail that waits keeps it from ending.
    fn end_of(&self, content: &[Block], stop: StopReason) -> Option<String> {
        let is_expected = |known: &crate::roster::Known| known.spec.expects.is_some();
        let is_expected = self.desk.roster.known(self.link.run.task, is_expected).unwrap_or(true);
        let is_isolated = self.desk.sites.own(self.link.run.task).is_some();
        let is_looked_at = is_expected || is_isolated || self.is_greeted() || self.suggests();
        match stop {
            StopReason::End | StopReason::Calls | StopReason::Refusal if !is_looked_at => said_in(content),
            StopReason::End | StopReason::Calls | StopReason::Refusal | StopReason::Length => None,
        }
    }
}

fn call_of(block: &Block) -> Option<&Call> {
    match block {
        Block::Call(call) => Some(call),
        Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => None,
    }
}
