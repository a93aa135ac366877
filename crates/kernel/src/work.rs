//! The current work of an activation.

use std::collections::BTreeMap;

use protocol::{
    Ask, AskDecision, AskId, CallId, Cost, DecidedBy, Price, QuotedTokens, TaskId, Timestamp, WaitEnd, WaitMode,
};

/// The current work of an activation. It survives an interruption, so that the next attempt continues there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ActivationWork {
    /// Nothing yet: no turn of this activation has begun.
    #[default]
    NotBegun,
    /// Between two turns.
    BetweenTurns,
    /// A model request is in progress.
    AwaitingModel(Box<ModelCall>),
    /// The model called tools; some calls are open.
    CallingTools(BTreeMap<CallId, CallPhase>),
    /// The model answered without calling a tool.
    Answered {
        /// Whether the answer has text.
        text: bool,
    },
}

/// A model call in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// The model.
    pub model: String,
    /// The budget reserved for it.
    pub reserved: Cost,
    /// The tokens that the reservation covers.
    pub quoted: QuotedTokens,
    /// The price of its tokens, if known.
    pub price: Option<Price>,
    /// Maximum output tokens of the answer.
    pub max_output: u32,
}

impl ModelCall {
    /// The cost of its input and of this many output tokens.
    pub(crate) fn cost(&self, output: u32) -> Cost {
        let input = self.reserved.tokens.saturating_sub(self.quoted.output.into());
        let micros = self.price.map_or(0, |price| price.max_cost(input, output.into()));
        Cost { tokens: input.saturating_add(output.into()), micros }
    }
}

/// The phase of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallPhase {
    /// Not run yet.
    Pending,
    /// Running.
    Started,
    /// Waiting for other tasks.
    Waiting(CallWait),
    /// Its wait is over; its answer is built from the tasks it waited for.
    Waited {
        /// The tasks.
        on: Vec<TaskId>,
        /// Why it is over.
        why: WaitEnd,
    },
    /// Waiting for a person's decision. A call that asks for permission has not started; one that asks a question has.
    Asking(Ask),
    /// The decision was made, but not acted on yet.
    Decided(DecidedAsk),
    /// Answered.
    Answered,
}

/// A decision on a call's ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedAsk {
    /// The ask.
    pub ask: AskId,
    /// The decision.
    pub decision: AskDecision,
    /// Who made it.
    pub by: DecidedBy,
    /// Whether the call had started, and so asked a question itself.
    pub call_started: bool,
}

impl DecidedAsk {
    /// A decision on this ask.
    pub(crate) fn new(ask: &Ask, decision: AskDecision, by: DecidedBy) -> DecidedAsk {
        DecidedAsk { ask: ask.id.clone(), decision, by, call_started: ask.subject.has_call_started() }
    }
}

/// What a call waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallWait {
    /// The awaited tasks.
    pub awaited: Vec<TaskId>,
    /// Which of them must end.
    pub mode: WaitMode,
    /// When it times out.
    pub until: Option<Timestamp>,
}

impl ActivationWork {
    /// Whether no model call and no tool call is open.
    pub fn is_between_calls(&self) -> bool {
        match self {
            ActivationWork::NotBegun | ActivationWork::BetweenTurns | ActivationWork::Answered { .. } => true,
            ActivationWork::AwaitingModel(_) | ActivationWork::CallingTools(_) => false,
        }
    }

    /// The model call in progress.
    pub fn model_call(&self) -> Option<&ModelCall> {
        match self {
            ActivationWork::AwaitingModel(model_call) => Some(model_call),
            ActivationWork::NotBegun
            | ActivationWork::BetweenTurns
            | ActivationWork::CallingTools(_)
            | ActivationWork::Answered { .. } => None,
        }
    }

    /// The calls of the latest answer, with their phases.
    pub fn calls(&self) -> impl Iterator<Item = (&CallId, &CallPhase)> {
        let calls = match self {
            ActivationWork::CallingTools(calls) => Some(calls),
            ActivationWork::NotBegun
            | ActivationWork::BetweenTurns
            | ActivationWork::AwaitingModel(_)
            | ActivationWork::Answered { .. } => None,
        };
        calls.into_iter().flatten()
    }

    /// The phase of a call.
    pub fn call(&self, id: &CallId) -> Option<&CallPhase> {
        match self {
            ActivationWork::CallingTools(calls) => calls.get(id),
            ActivationWork::NotBegun
            | ActivationWork::BetweenTurns
            | ActivationWork::AwaitingModel(_)
            | ActivationWork::Answered { .. } => None,
        }
    }

    /// The waits in progress.
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

    /// The open asks.
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
