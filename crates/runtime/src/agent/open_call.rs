//! An open tool call, as the run that answers it knows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kernel::RunUpdate;
use protocol::{CallId, Evidence, RunId, ToolResult, Turn};

use crate::hooks::HookHalt;
use crate::run_requests::{CallProgress, SessionRequests};
use crate::supervisor::InputRejection;

/// An open tool call of a run.
#[derive(Debug, Clone)]
pub(crate) struct OpenCall {
    pub(crate) session: Arc<dyn SessionRequests>,
    pub(crate) run: RunId,
    pub(crate) turn: Turn,
    pub(crate) call: CallId,
    /// Whether a hook stops the agent after its calls.
    pub(crate) halt: HookHalt,
    /// Whether the user wants the turn to end after its calls.
    pub(crate) turn_end: TurnEnd,
}

/// The user's wish that a turn ends once the calls of its answer are over.
#[derive(Debug, Clone, Default)]
pub(crate) struct TurnEnd(Arc<AtomicBool>);

impl TurnEnd {
    pub(crate) fn request(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl OpenCall {
    /// How far the call has come.
    pub(crate) async fn progress(&self) -> Result<CallProgress, InputRejection> {
        self.session.call_progress(self.call.clone()).await
    }

    /// Records that the call starts.
    pub(crate) async fn start(&self) -> Result<(), InputRejection> {
        self.session.report(RunUpdate::CallStarted { turn: self.turn, call: self.call.clone() }).await
    }

    /// Answers the call.
    pub(crate) async fn answer(&self, answer: ToolResult, evidence: Vec<Evidence>) -> Result<(), InputRejection> {
        let (turn, call) = (self.turn, self.call.clone());
        self.session.report(RunUpdate::CallAnswered { turn, call, answer, evidence }).await
    }
}
