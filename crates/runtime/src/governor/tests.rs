//! Governors of several sessions in one home, as separate processes have them. The tests advance the clock.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use host::{Clock, Home};
use kernel::RateBucket;
use kernel::bucket::{AdmitDecision, PermitHolder};
use model::ModelFacts;
use protocol::{ModelFault, Timestamp};
use store::BucketStore;
use tempfile::TempDir;
use testkit::session::FakeClock;

use super::{Governor, ModelPermit, PermitOutcome, RequestAdmission};

const KEY: &str = "demo/account/model";

/// Long enough for anything that is going to happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A home and a clock, for as many governors as there would be processes.
struct GovernorFixture {
    home: Home,
    clock: Arc<FakeClock>,
    _folder: TempDir,
}

impl GovernorFixture {
    fn new() -> GovernorFixture {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        GovernorFixture { home, clock: Arc::default(), _folder: folder }
    }

    fn governor(&self) -> Governor {
        Governor::open(self.home.clone(), Arc::clone(&self.clock) as Arc<dyn Clock>)
    }

    fn bucket(&self) -> RateBucket {
        let state = BucketStore::open(&self.home).unwrap().read(KEY).unwrap().unwrap();
        serde_json::from_str(&state).unwrap()
    }

    /// Leaves a bucket in which another holder has the only permit.
    fn held_by(&self, holder: &PermitHolder) {
        let mut bucket = RateBucket::default();
        assert!(matches!(bucket.admit(self.clock.now(), holder, Some(1)), AdmitDecision::Go(_)));
        let state = serde_json::to_string(&bucket).unwrap();
        BucketStore::open(&self.home).unwrap().change(KEY, |_| (state, ())).unwrap();
    }
}

fn facts() -> ModelFacts {
    ModelFacts { bucket: Some(KEY.into()), ..ModelFacts::UNKNOWN }
}

/// A server that takes one request at a time.
fn narrow() -> ModelFacts {
    ModelFacts { max_concurrent_requests: Some(1), ..facts() }
}

async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("waited in vain")
}

async fn go(governor: &Governor, facts: &ModelFacts) -> ModelPermit {
    match soon(governor.admit(facts)).await {
        RequestAdmission::Admitted(permit) => permit,
        RequestAdmission::Park(until) => panic!("parked until {until}"),
    }
}

/// Whether a request still waits after the governor has checked a few times.
async fn waits<T>(work: impl Future<Output = T>) -> bool {
    tokio::time::timeout(Duration::from_millis(300), work).await.is_err()
}

fn failed(fault: ModelFault) -> PermitOutcome {
    PermitOutcome::Failed(fault)
}

#[tokio::test]
async fn a_model_without_a_provider_costs_nothing() {
    let scene = GovernorFixture::new();
    let governor = scene.governor();
    for _ in 0..100 {
        go(&governor, &ModelFacts::UNKNOWN).await.settle(failed(ModelFault::RetryAfter { millis: 60_000 }));
    }
    drop(governor);
    assert!(!scene.home.index_db().exists());
}

#[tokio::test]
async fn a_named_time_holds_for_every_process() {
    let scene = GovernorFixture::new();
    let (ours, theirs) = (scene.governor(), scene.governor());
    go(&ours, &facts()).await.settle(failed(ModelFault::RetryAfter { millis: 5000 }));
    let facts = facts();
    let mut here = pin!(ours.admit(&facts));
    assert!(waits(&mut here).await);
    let mut there = pin!(theirs.admit(&facts));
    assert!(waits(&mut there).await);
    scene.clock.advance(Duration::from_secs(6));
    // The first to check is the probe.
    let first = async move {
        tokio::select! {
            admitted = &mut here => (admitted, there),
            admitted = &mut there => (admitted, here),
        }
    };
    let (RequestAdmission::Admitted(mut probe), mut other) = soon(first).await else { panic!("parked") };
    assert!(waits(&mut other).await, "there is one probe");
    probe.answer_began();
    while waits(&mut other).await {
        scene.clock.advance(Duration::from_secs(1));
        assert!(scene.clock.now() < FakeClock::START.plus(Duration::from_secs(30)), "a first word did not open it");
    }
    probe.settle(PermitOutcome::Answered);
}

#[tokio::test]
async fn a_quota_parks_everybody_until_a_moment_of_their_own() {
    let scene = GovernorFixture::new();
    let (ours, theirs) = (scene.governor(), scene.governor());
    let until_at = FakeClock::START.plus(Duration::from_secs(3600));
    go(&ours, &facts()).await.settle(failed(ModelFault::QuotaUntil { until_at }));
    let mut moments: Vec<Timestamp> = Vec::new();
    for governor in [&ours, &theirs].repeat(10) {
        match soon(governor.admit(&facts())).await {
            RequestAdmission::Park(until) => moments.push(until),
            RequestAdmission::Admitted(_) => panic!("somebody was let in"),
        }
    }
    assert!(moments.iter().all(|at| *at >= until_at && *at <= until_at.plus(Duration::from_secs(3))));
    moments.dedup();
    assert!(moments.len() > 1);
    scene.clock.advance(Duration::from_secs(3604));
    let _probe = go(&theirs, &facts()).await;
    assert!(waits(ours.admit(&facts())).await, "one tries first");
}

#[tokio::test]
async fn those_who_wait_are_let_in_in_order() {
    let scene = GovernorFixture::new();
    let governor = scene.governor();
    let first = go(&governor, &narrow()).await;
    let facts = narrow();
    let (mut second, mut third) = (pin!(governor.admit(&facts)), pin!(governor.admit(&facts)));
    assert!(waits(&mut second).await && waits(&mut third).await);
    first.settle(PermitOutcome::Answered);
    let RequestAdmission::Admitted(permit) = soon(&mut second).await else { panic!("parked") };
    assert!(waits(&mut third).await);
    drop(permit);
    assert!(matches!(soon(&mut third).await, RequestAdmission::Admitted(_)), "dropping a permit gives it back");
}

#[tokio::test]
async fn who_no_longer_waits_is_not_waited_for() {
    let scene = GovernorFixture::new();
    let (ours, theirs) = (scene.governor(), scene.governor());
    let held = go(&ours, &narrow()).await;
    let facts = narrow();
    assert!(waits(ours.admit(&facts)).await);
    let mut next = pin!(theirs.admit(&facts));
    assert!(waits(&mut next).await);
    held.settle(PermitOutcome::Answered);
    assert!(matches!(soon(next).await, RequestAdmission::Admitted(_)));
}

#[tokio::test]
async fn what_a_process_held_when_it_died_is_free_again() {
    let scene = GovernorFixture::new();
    let dead = format!("{}:1:an earlier boot:0", std::process::id());
    for name in [dead.as_str(), "a name of another kind"] {
        scene.held_by(&PermitHolder(name.into()));
        let _permit = go(&scene.governor(), &narrow()).await;
    }
}

#[tokio::test]
async fn a_damaged_bucket_begins_anew() {
    let scene = GovernorFixture::new();
    BucketStore::open(&scene.home).unwrap().change(KEY, |_| (r#"{"gate":"#.into(), ())).unwrap();
    let governor = scene.governor();
    let permit = go(&governor, &narrow()).await;
    assert!(waits(governor.admit(&narrow())).await);
    permit.settle(PermitOutcome::Answered);
    drop(governor);
    assert_eq!(scene.bucket().requests_in_progress(), 0);
}

#[tokio::test]
async fn a_home_that_cannot_be_written_leaves_a_process_on_its_own_and_polite() {
    let scene = GovernorFixture::new();
    std::fs::create_dir(scene.home.index_db()).unwrap();
    let governor = scene.governor();
    let permit = go(&governor, &narrow()).await;
    assert!(waits(governor.admit(&narrow())).await);
    permit.settle(failed(ModelFault::RetryAfter { millis: 5000 }));
    assert!(waits(governor.admit(&narrow())).await);
    scene.clock.advance(Duration::from_secs(6));
    go(&governor, &narrow()).await.settle(PermitOutcome::Answered);
}

#[tokio::test]
async fn a_process_that_keeps_the_file_stops_nobody_and_what_was_known_still_holds() {
    let scene = GovernorFixture::new();
    let governor = scene.governor();
    go(&governor, &facts()).await.settle(failed(ModelFault::RetryAfter { millis: 5000 }));
    assert!(waits(governor.admit(&facts())).await);
    let (keeps, kept) = mpsc::channel();
    let (done, over) = mpsc::channel::<()>();
    let home = scene.home.clone();
    let other = thread::spawn(move || {
        let keep = |state: Option<String>| {
            keeps.send(()).unwrap();
            let _over = over.recv();
            (state.unwrap_or_default(), ())
        };
        BucketStore::open(&home).unwrap().change(KEY, keep).unwrap();
    });
    kept.recv().unwrap();
    let facts = facts();
    let mut next = pin!(governor.admit(&facts));
    assert!(waits(&mut next).await, "it is still closed");
    scene.clock.advance(Duration::from_secs(6));
    assert!(matches!(soon(next).await, RequestAdmission::Admitted(_)));
    drop(done);
    other.join().unwrap();
}

#[tokio::test]
async fn what_was_told_is_written_before_a_governor_is_gone() {
    let scene = GovernorFixture::new();
    for _ in 0..20 {
        let governor = scene.governor();
        let permits = [go(&governor, &facts()).await, go(&governor, &facts()).await];
        permits.into_iter().for_each(|permit| permit.settle(PermitOutcome::Answered));
        drop(governor);
        assert_eq!((scene.bucket().requests_in_progress(), scene.bucket().holders().count()), (0, 0));
    }
}

/// D5.
#[tokio::test]
async fn a_clock_that_is_set_back_while_a_provider_is_closed_does_not_lengthen_the_wait() {
    let scene = GovernorFixture::new();
    let governor = scene.governor();
    go(&governor, &facts()).await.settle(failed(ModelFault::RetryAfter { millis: 5000 }));
    let facts = facts();
    let mut next = pin!(governor.admit(&facts));
    assert!(waits(&mut next).await);
    for hours in [1, 24] {
        scene.clock.set_back(Duration::from_secs(hours * 3600));
        assert!(waits(&mut next).await, "it is still closed");
    }
    let set_back = scene.clock.now();
    while waits(&mut next).await {
        scene.clock.advance(Duration::from_secs(1));
        assert!(scene.clock.now() < set_back.plus(Duration::from_secs(60)), "it waits past the retry time");
    }
}

/// B4.
#[tokio::test]
async fn refused_connections_never_close_the_shared_bucket() {
    let scene = GovernorFixture::new();
    let (ours, theirs) = (scene.governor(), scene.governor());
    for governor in [&ours, &theirs].repeat(20) {
        go(governor, &facts()).await.settle(failed(ModelFault::Unreachable));
    }
    // The clock has not moved: no request has waited.
    go(&theirs, &facts()).await.settle(PermitOutcome::Answered);
    drop((ours, theirs));
    assert_eq!((scene.bucket().closed_until(), scene.bucket().requests_in_progress()), (None, 0));
}
