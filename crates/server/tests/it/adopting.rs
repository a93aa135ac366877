//! What becomes of the sessions of a host at its end.

use std::sync::Arc;
use std::time::Duration;

use bosun_server::{HOST_LOCK, HostDescription, HostEnd, HostProcess, OpenRequest, SessionHost};
use client::LatestFleet;
use protocol::api::{FleetParams, calls};
use protocol::{FleetEnd, SessionId, SessionOptions, TaskState, Timestamp};
use runtime::SessionStart;
use testkit::session::{SessionFixture, scenario};

use super::{FixtureOpener, HELD, STEP_TIMEOUT, within};

fn resident(fixture: &SessionFixture) -> Arc<SessionHost> {
    SessionHost::resident(Arc::new(FixtureOpener(fixture.clone())), 2)
}

/// Begins a session whose call is held, and waits until the call runs.
async fn begin_held(host: &Arc<SessionHost>, fixture: &SessionFixture) -> SessionId {
    let options = SessionOptions { prompt: Some("go".into()), ..SessionOptions::default() };
    let id = host.begin(SessionStart::New, options).await.unwrap().id;
    within("the call", until_began(fixture)).await;
    id
}

async fn until_began(fixture: &SessionFixture) {
    while fixture.file("began").is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn state(host: &SessionHost, id: SessionId) -> TaskState {
    host.handle(id).view().unwrap().state
}

#[tokio::test]
async fn the_next_host_finishes_the_work_of_a_terminated_one() {
    let fixture = scenario().allow_all().file("hold", "").script(HELD).ready();
    let host = resident(&fixture);
    let id = begin_held(&host, &fixture).await;
    host.set_end(HostEnd::Terminated);
    within("the end", host.shut_down()).await;
    assert_eq!(state(&host, id), TaskState::Interrupted);
    std::fs::remove_file(fixture.path("hold")).unwrap();
    let next = resident(&fixture);
    next.adopt();
    let rests = async {
        while state(&next, id) != TaskState::Idle || next.count() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within("the adopted session", rests).await;
    assert!(next.not_adopted().is_empty() && !next.home().is_held(id));
}

/// A root that plans one todo. Its worker waits while a file called `hold` exists.
const HELD_FLEET: &str = "
version: 1
rules:
  - when: { agent: main, answered: { tool: sql } }
    answer: [say: One todo.]
  - when: { agent: main }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title, agent_type) VALUES ('a', 'Do it', 'worker')\" } }]
  - when: { agent: worker, turn: 1 }
    answer: [call: { tool: shell, input: { command: 'touch began; while [ -e hold ]; do sleep 0.01; done' } }]
  - answer: [say: It is done.]
";

#[tokio::test]
async fn the_next_host_continues_the_fleet_of_a_terminated_one() {
    let fixture = scenario().allow_all().file("hold", "").script(HELD_FLEET).ready();
    let host = resident(&fixture);
    let id = host.open(OpenRequest::new(SessionStart::New)).await.unwrap().id();
    let fleet = FleetParams { rounds: Some(0), ..FleetParams::new(Some("all of it")) };
    host.handle(id).call::<calls::SessionFleetStart>(&fleet, STEP_TIMEOUT).await.unwrap();
    within("the worker", until_began(&fixture)).await;
    host.set_end(HostEnd::Terminated);
    within("the end", host.shut_down()).await;
    let latest = |host: &SessionHost| host.handle(id).latest_fleet().unwrap();
    assert_eq!(latest(&host), Some(LatestFleet::Unfinished));
    std::fs::remove_file(fixture.path("hold")).unwrap();
    let next = resident(&fixture);
    next.adopt();
    let ends = async {
        while latest(&next) != Some(LatestFleet::Ended(FleetEnd::Done)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within("the adopted fleet", ends).await;
    assert!(next.not_adopted().is_empty());
    within("the end", next.shut_down()).await;
}

#[tokio::test]
async fn the_next_host_leaves_the_sessions_of_a_stopped_one_alone() {
    let fixture = scenario().allow_all().file("hold", "").script(HELD).ready();
    let host = resident(&fixture);
    let id = begin_held(&host, &fixture).await;
    assert!(host.home().is_held(id));
    host.set_end(HostEnd::Stopped);
    within("the end", host.shut_down()).await;
    assert!(!host.home().is_held(id));
    let next = resident(&fixture);
    next.adopt();
    within("the end", next.shut_down()).await;
    assert_eq!(state(&next, id), TaskState::Interrupted);
}

#[tokio::test]
async fn a_session_that_another_process_runs_is_not_adopted() {
    let fixture = scenario().allow_all().file("hold", "").script(HELD).ready();
    let host = resident(&fixture);
    begin_held(&host, &fixture).await;
    // The first host still runs it.
    let next = resident(&fixture);
    next.adopt();
    within("the end", next.shut_down()).await;
    assert!(next.not_adopted().is_empty());
    within("the end", host.shut_down()).await;
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_reported_and_kept() {
    let fixture = scenario().script(HELD).ready();
    let id: SessionId = "ses-01900000-0000-7000-8000-000000000001".parse().unwrap();
    fixture.home().write_held_record(id, b"from a newer version").unwrap();
    let host = resident(&fixture);
    host.adopt();
    let reported = async {
        while host.not_adopted().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within("the report", reported).await;
    assert_eq!(host.not_adopted()[0].id, id);
    assert!(host.home().is_held(id));
    within("the end", host.shut_down()).await;
}

#[tokio::test(start_paused = true)]
async fn a_host_whose_home_was_removed_ends() {
    let fixture = scenario().script(HELD).ready();
    let lock = fixture.home().try_lock(HOST_LOCK).unwrap().unwrap();
    let description = HostDescription {
        version: "0",
        program: host::machine::program_file().unwrap(),
        started_at: Timestamp(0),
        http: None,
    };
    let mut process = HostProcess::start(lock, resident(&fixture), description).await.unwrap();
    std::fs::remove_file(fixture.home().host_socket()).unwrap();
    assert_eq!(process.run(None).await, HostEnd::Terminated);
    process.shut_down(HostEnd::Terminated).await;
}
