//! Effects: what the runtime must perform, in order.

use protocol::{CallId, CancelMode, LogEntry, RunId, WaitEnd};

/// One effect. A `Record` is durable before any later effect is performed.
#[expect(clippy::large_enum_variant, reason = "nearly every effect is an event, and is moved into its commit at once")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelEffect {
    /// Append an event to the log.
    Record(LogEntry),
    /// Run an activation.
    Start(RunId),
    /// Tell a run that waited for a slot that it may call its model again.
    MayProceed(RunId),
    /// Tell a waiting tool call that its wait is over.
    WaitOver {
        /// The run it belongs to.
        run: RunId,
        /// The call.
        call: CallId,
        /// Why the wait is over.
        why: WaitEnd,
    },
    /// Tell a tool call that its ask is decided.
    AskOver {
        /// The run it belongs to.
        run: RunId,
        /// The call.
        call: CallId,
    },
    /// Stop the run: after a last turn, or at once with nothing more to report.
    Stop {
        /// The run.
        run: RunId,
        /// Whether the run may take a last turn.
        how: CancelMode,
    },
}
