//! What an activation is in the middle of.

use std::collections::BTreeMap;

use protocol::{
    Ask, AskDecision, AskId, CallId, Cost, DecidedBy, Price, QuotedTokens, TaskId, Timestamp, WaitEnd, WaitMode,
};

/// What an activation is in the middle of. It outlives an interruption, so that the next attempt goes on there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ActivationWork {
    /// Nothing yet: no turn of this activation has begun.
    #[default]
    Fresh,
    /// Between two turns.
    Boundary,
    /// A model was asked.
    Asking(Box<ModelCall>),
    /// The model called tools; some calls are open.
    Acting(BTreeMap<CallId, CallPhase>),
    /// The model answered without calling a tool.
    Answered {
        /// Whether it said anything.
        text: bool,
    },
}

/// A model call under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// The model.
    pub model: String,
    /// What was set aside for it.
    pub reserved: Cost,
    /// The tokens that this covers.
    pub quoted: QuotedTokens,
    /// What they cost.
    pub price: Option<Price>,
    /// Most output that was asked for.
    pub most: u32,
}

impl ModelCall {
    /// What it has used when so much of its answer has arrived: its input, and that.
    pub(crate) fn cost(&self, output: u32) -> Cost {
        let input = self.reserved.tokens.saturating_sub(self.quoted.output.into());
        let micros = self.price.map_or(0, |price| price.at_most(input, output.into()));
        Cost { tokens: input.saturating_add(output.into()), micros }
    }
}

/// Where an open tool call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallPhase {
    /// Not run yet.
    Pending,
    /// Running.
    Started,
    /// Waiting for other tasks.
    Waiting(CallWait),
    /// Its wait is over; the answer is to be made from the tasks it waited for.
    Waited {
        /// The tasks.
        on: Vec<TaskId>,
        /// Why it is over.
        why: WaitEnd,
    },
    /// Waiting for a person's decision. A call that asks for permission has not run; one that asks a question has begun.
    Asking(Ask),
    /// The decision was made, and is to be acted upon.
    Decided(DecidedAsk),
    /// Answered.
    Answered,
}

/// A decision that a call waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedAsk {
    /// What was asked.
    pub ask: AskId,
    /// The decision.
    pub decision: AskDecision,
    /// Who made it.
    pub by: DecidedBy,
    /// Whether the call had begun, and so asked a question of its own.
    pub call_started: bool,
}

impl DecidedAsk {
    /// A decision on this ask.
    pub(crate) fn on(ask: &Ask, decision: AskDecision, by: DecidedBy) -> DecidedAsk {
        DecidedAsk { ask: ask.id.clone(), decision, by, call_started: ask.subject.has_call_started() }
    }
}

/// What a call waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallWait {
    /// The tasks.
    pub on: Vec<TaskId>,
    /// Which of them must end.
    pub mode: WaitMode,
    /// When it gives up.
    pub until: Option<Timestamp>,
}

impl ActivationWork {
    /// Whether no model call and no tool call is open.
    pub fn is_between(&self) -> bool {
        match self {
            ActivationWork::Fresh | ActivationWork::Boundary | ActivationWork::Answered { .. } => true,
            ActivationWork::Asking(_) | ActivationWork::Acting(_) => false,
        }
    }

    /// The calls of the latest answer, with where each is.
    pub fn calls(&self) -> impl Iterator<Item = (&CallId, &CallPhase)> {
        let calls = match self {
            ActivationWork::Acting(calls) => Some(calls),
            ActivationWork::Fresh
            | ActivationWork::Boundary
            | ActivationWork::Asking(_)
            | ActivationWork::Answered { .. } => None,
        };
        calls.into_iter().flatten()
    }

    /// Where a call is.
    pub fn call(&self, id: &CallId) -> Option<&CallPhase> {
        match self {
            ActivationWork::Acting(calls) => calls.get(id),
            ActivationWork::Fresh
            | ActivationWork::Boundary
            | ActivationWork::Asking(_)
            | ActivationWork::Answered { .. } => None,
        }
    }

    /// The waits that are under way.
    pub fn waits(&self) -> impl Iterator<Item = (&CallId, &CallWait)> {
        self.calls().filter_map(|(id, phase)| match phase {
            CallPhase::Waiting(wait) => Some((id, wait)),
            CallPhase::Pending
            | CallPhase::Started
            | CallPhase::Waited { .. }
            | CallPhase::Asking(_)
            | CallPhase::Decided(_)
            | CallPhase::Answered => None,
        })
    }

    /// What waits for a decision.
    pub fn asks(&self) -> impl Iterator<Item = &Ask> {
        self.calls().filter_map(|(_, phase)| match phase {
            CallPhase::Asking(ask) => Some(ask),
            CallPhase::Pending
            | CallPhase::Started
            | CallPhase::Waiting(_)
            | CallPhase::Waited { .. }
            | CallPhase::Decided(_)
            | CallPhase::Answered => None,
        })
    }

    /// Whether any call waits, for tasks or for a decision.
    pub fn is_waiting(&self) -> bool {
        self.waits().next().is_some() || self.asks().next().is_some()
    }
}
