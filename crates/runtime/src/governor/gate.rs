//! Whether a session may send model requests. A session that its owner is about to leave sends none, so that no answer
//! is lost.

use tokio::sync::watch;

/// The gate that every request of a session passes.
#[derive(Debug)]
pub(super) struct RequestGate(watch::Sender<GateState>);

#[derive(Debug, Default)]
struct GateState {
    is_closed: bool,
    /// How many requests have passed and are not over.
    passed: usize,
}

/// A request that has passed the gate, until this is dropped.
#[derive(Debug)]
pub(super) struct PassedRequest(watch::Sender<GateState>);

impl Drop for PassedRequest {
    fn drop(&mut self) {
        self.0.send_modify(|gate| gate.passed -= 1);
    }
}

impl RequestGate {
    pub(super) fn new() -> RequestGate {
        RequestGate(watch::Sender::default())
    }

    /// Passes the gate; never returns once it is closed.
    pub(super) async fn pass(&self) -> PassedRequest {
        let has_passed = self.0.send_if_modified(|gate| {
            gate.passed += usize::from(!gate.is_closed);
            !gate.is_closed
        });
        if !has_passed {
            std::future::pending::<()>().await;
        }
        PassedRequest(self.0.clone())
    }

    /// Closes the gate for good, and waits until every request that has passed it is over.
    pub(super) async fn close(&self) {
        self.0.send_modify(|gate| gate.is_closed = true);
        // The sender is a field of this gate.
        let _over = self.0.subscribe().wait_for(|gate| gate.passed == 0).await.is_ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_gate_that_closes_waits_for_what_has_passed_and_lets_nothing_more_pass() {
        let gate = RequestGate::new();
        let passed = gate.pass().await;
        let is_closed = tokio::select! {
            biased;
            () = gate.close() => true,
            () = std::future::ready(()) => false,
        };
        assert!(!is_closed);
        drop(passed);
        gate.close().await;
        let has_passed = tokio::select! {
            biased;
            _passed = gate.pass() => true,
            () = std::future::ready(()) => false,
        };
        assert!(!has_passed);
    }
}
