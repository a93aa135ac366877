//! The session's state, as one of three names that clients know. Clients close their input on `idle`, so it is never
//! reported while an agent works or a message waits.

use protocol::api::StatusView;
use serde_json::{Value, json};
use uuid::Uuid;

/// Whether the client wants the session's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateReporting {
    /// The client does not want it.
    Off,
    /// The SDK wants it, but does not pass it to the program.
    Sdk,
    /// The program wants it.
    Program,
}

impl StateReporting {
    /// From the adapter's environment: whether the SDK reads states, and whether the program wants them.
    pub(super) fn from_flags(by_sdk: bool, by_program: bool) -> StateReporting {
        match (by_program, by_sdk) {
            (true, _) => StateReporting::Program,
            (false, true) => StateReporting::Sdk,
            (false, false) => StateReporting::Off,
        }
    }
}

/// The session's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClaudeSessionState {
    Running,
    RequiresAction,
    Idle,
}

impl ClaudeSessionState {
    fn from_status(status: &StatusView, pending: usize) -> ClaudeSessionState {
        if status.asks > 0 {
            return ClaudeSessionState::RequiresAction;
        }
        if is_root_idle(status) && pending == 0 { ClaudeSessionState::Idle } else { ClaudeSessionState::Running }
    }

    fn as_str(self) -> &'static str {
        match self {
            ClaudeSessionState::Running => "running",
            ClaudeSessionState::RequiresAction => "requires_action",
            ClaudeSessionState::Idle => "idle",
        }
    }
}

/// Whether the root is idle and will not continue by itself, and no fleet is at work. Background commands do not count:
/// they may run forever.
pub(super) fn is_root_idle(status: &StatusView) -> bool {
    !status.is_root_busy() && !status.fleet
}

/// Reports the session's state to a client whenever it changes.
#[derive(Debug)]
pub(super) struct StateReporter {
    reporting: StateReporting,
    last_reported: Option<ClaudeSessionState>,
}

impl StateReporter {
    /// Creates a reporter that has reported nothing yet.
    pub(super) fn new(reporting: StateReporting) -> StateReporter {
        StateReporter { reporting, last_reported: None }
    }

    /// The frame for the client, if the state has changed. `pending` counts working agents and waiting messages.
    pub(super) fn changed_state_frame(&mut self, status: &StatusView, pending: usize, session: Uuid) -> Option<Value> {
        let state = ClaudeSessionState::from_status(status, pending);
        if self.reporting == StateReporting::Off || self.last_reported == Some(state) {
            return None;
        }
        self.last_reported = Some(state);
        let mut frame = json!({ "type": "system", "subtype": "session_state_changed", "state": state.as_str(),
            "uuid": Uuid::now_v7(), "session_id": session });
        if self.reporting == StateReporting::Sdk {
            frame["sdk_host_only"] = true.into();
        }
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use protocol::TaskState;

    use super::*;

    fn status(root: TaskState) -> StatusView {
        let quiet = root == TaskState::Idle;
        StatusView {
            seq: 1,
            quiet,
            root: Some(root),
            background: 0,
            asks: 0,
            continuation_due: false,
            fleet: false,
            fleet_failure: None,
            parked: None,
            paused: None,
        }
    }

    fn reported_state(states: &mut StateReporter, status: &StatusView, agents: usize) -> Option<String> {
        let frame = states.changed_state_frame(status, agents, Uuid::nil())?;
        assert_eq!(frame["sdk_host_only"], true);
        Some(frame["state"].as_str().unwrap().to_owned())
    }

    #[test]
    fn idle_is_not_reported_while_work_is_pending() {
        let mut states = StateReporter::new(StateReporting::from_flags(true, false));
        let idle = status(TaskState::Idle);
        assert_eq!(reported_state(&mut states, &status(TaskState::Running), 0).as_deref(), Some("running"));
        assert_eq!(reported_state(&mut states, &idle, 1), None);
        assert_eq!(reported_state(&mut states, &StatusView { continuation_due: true, ..idle.clone() }, 0), None);
        assert_eq!(
            reported_state(
                &mut states,
                &status(TaskState::Parked { until_at: Some(protocol::Timestamp(5)), why: protocol::ParkReason::Quota }),
                0
            ),
            None
        );
        let asking = StatusView { asks: 1, ..status(TaskState::Running) };
        assert_eq!(reported_state(&mut states, &asking, 0).as_deref(), Some("requires_action"));
        assert_eq!(reported_state(&mut states, &idle, 0).as_deref(), Some("idle"));
        assert_eq!(reported_state(&mut states, &StatusView { background: 1, ..idle }, 0), None);
    }

    #[test]
    fn states_are_reported_as_the_client_wants() {
        let idle = status(TaskState::Idle);
        let frame = |reporting| StateReporter::new(reporting).changed_state_frame(&idle, 0, Uuid::nil());
        assert_eq!(frame(StateReporting::from_flags(false, false)), None);
        assert_eq!(frame(StateReporting::from_flags(true, true)).unwrap().get("sdk_host_only"), None);
    }
}
