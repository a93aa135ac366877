//! Sessions that a host holds, with a scripted model.

#![cfg(test)]

mod adopting;
mod holding;

use std::sync::Arc;
use std::time::Duration;

use bosun_server::{OpenRefusal, OpenRequest, OpenSessionFuture, SessionHost, SessionOpener};
use client::SessionHandle;
use host::Home;
use protocol::MailDelivery;
use protocol::api::{SendParams, calls};
use testkit::session::{Scenario, SessionFixture};

/// How long any step may take.
const STEP_TIMEOUT: Duration = Duration::from_secs(20);

/// One turn that writes a file and then waits while a file called `hold` exists, and one after it.
const HELD: &str = "
version: 1
agents:
  main:
    - - call: { id: held, tool: shell, input: { command: 'touch began; while [ -e hold ]; do sleep 0.01; done; echo on' } }
    - - say: It is done.
";

/// Opens the sessions of one fixture.
struct FixtureOpener(SessionFixture);

impl SessionOpener for FixtureOpener {
    fn home(&self) -> &Home {
        self.0.home()
    }

    fn open(&self, request: OpenRequest) -> OpenSessionFuture<'_> {
        Box::pin(async move {
            let opened = self.0.open_as_adapter(request.start, request.id, request.client_extensions).await;
            opened.map_err(|error| OpenRefusal { words: error.to_string(), hint: None })
        })
    }
}

/// A host whose sessions all belong to one fixture.
fn host_of(scenario: Scenario, max_sessions: usize) -> (Arc<SessionHost>, SessionFixture) {
    let fixture = scenario.ready();
    (SessionHost::new(Arc::new(FixtureOpener(fixture.clone())), max_sessions), fixture)
}

/// Sends the root a message.
async fn send(session: &SessionHandle, text: &str) {
    let message = SendParams {
        task: None,
        text: text.into(),
        images: Vec::new(),
        delivery: MailDelivery::FollowUp,
        display: None,
    };
    session.call::<calls::SessionSend>(&message, STEP_TIMEOUT).await.unwrap();
}

/// Fails if this takes too long.
async fn within<T>(what: &str, wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(STEP_TIMEOUT, wait).await.unwrap_or_else(|_elapsed| panic!("timed out waiting for {what}"))
}
