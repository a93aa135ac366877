//! Tests governors of several sessions in one home, as separate processes would have them. The tests advance the clock.

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

/// How long a test waits for something that must happen.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// A home and a clock for several governors, one for each simulated process.
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
    fn give_only_permit_to(&self, holder: &PermitHolder) {
        let mut bucket = RateBucket::default();
        assert!(matches!(bucket.admit(self.clock.now(), holder, Some(1)), AdmitDecision::Go(_)));
        let state = serde_json::to_string(&bucket).unwrap();
        BucketStore::open(&self.home).unwrap().change(KEY, |_| (state, ())).unwrap();
    }
}

fn facts() -> ModelFacts {
    ModelFacts { bucket_key: Some(KEY.into()), ..ModelFacts::UNKNOWN }
}

/// A server that takes one request at a time.
fn one_request_at_a_time() -> ModelFacts {
    ModelFacts { max_concurrent_requests: Some(1), ..facts() }
}

async fn within_timeout<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIMEOUT, work).await.expect("waited in vain")
}

async fn admit(governor: &Governor, facts: &ModelFacts) -> RequestAdmission {
    governor.admit(facts.bucket_key.as_deref(), facts.max_concurrent_requests).await
}

async fn admitted(governor: &Governor, facts: &ModelFacts) -> ModelPermit {
    match within_timeout(admit(governor, facts)).await {
        RequestAdmission::Admitted(permit) => permit,
        RequestAdmission::Park(until) => panic!("parked until {until}"),
    }
}

/// Whether a request still waits after the governor has checked a few times.
async fn still_waits<T>(work: impl Future<Output = T>) -> bool {
    tokio::time::timeout(Duration::from_millis(300), work).await.is_err()
}

fn failed(fault: ModelFault) -> PermitOutcome {
    PermitOutcome::Failed(fault)
}

#[tokio::test]
async fn a_model_without_a_bucket_is_not_governed() {
    let fixture = GovernorFixture::new();
    let governor = fixture.governor();
    for _ in 0..100 {
        admitted(&governor, &ModelFacts::UNKNOWN).await.settle(failed(ModelFault::RetryAfter { millis: 60_000 }));
    }
    drop(governor);
    assert!(!fixture.home.index_db().exists());
}

#[tokio::test]
async fn a_retry_time_applies_to_every_process() {
    let fixture = GovernorFixture::new();
    let (ours, theirs) = (fixture.governor(), fixture.governor());
    admitted(&ours, &facts()).await.settle(failed(ModelFault::RetryAfter { millis: 5000 }));
    let facts = facts();
    let mut here = pin!(admit(&ours, &facts));
    assert!(still_waits(&mut here).await);
    let mut there = pin!(admit(&theirs, &facts));
    assert!(still_waits(&mut there).await);
    fixture.clock.advance(Duration::from_secs(6));
    // The first to check is the probe.
    let first = async move {
        tokio::select! {
            admitted = &mut here => (admitted, there),
            admitted = &mut there => (admitted, here),
        }
    };
    let (RequestAdmission::Admitted(mut probe), mut other) = within_timeout(first).await else { panic!("parked") };
    assert!(still_waits(&mut other).await, "there is one probe");
    probe.answer_began();
    while still_waits(&mut other).await {
        fixture.clock.advance(Duration::from_secs(1));
        assert!(
            fixture.clock.now() < FakeClock::START.plus(Duration::from_secs(30)),
            "the start of an answer did not reopen the bucket"
        );
    }
    probe.settle(PermitOutcome::Answered);
}

#[tokio::test]
async fn a_quota_parks_all_requests_until_different_times() {
    let fixture = GovernorFixture::new();
    let (ours, theirs) = (fixture.governor(), fixture.governor());
    let until_at = FakeClock::START.plus(Duration::from_secs(3600));
    admitted(&ours, &facts()).await.settle(failed(ModelFault::QuotaUntil { until_at }));
    let mut resume_times: Vec<Timestamp> = Vec::new();
    for governor in [&ours, &theirs].repeat(10) {
        match within_timeout(admit(governor, &facts())).await {
            RequestAdmission::Park(until) => resume_times.push(until),
            RequestAdmission::Admitted(_) => panic!("a request was admitted"),
        }
    }
    assert!(resume_times.iter().all(|at| *at >= until_at && *at <= until_at.plus(Duration::from_secs(3))));
    resume_times.dedup();
    assert!(resume_times.len() > 1);
    fixture.clock.advance(Duration::from_secs(3604));
    let _probe = admitted(&theirs, &facts()).await;
    assert!(still_waits(admit(&ours, &facts())).await, "one probe comes first");
}

#[tokio::test]
async fn waiting_requests_are_admitted_in_order() {
    let fixture = GovernorFixture::new();
    let governor = fixture.governor();
    let first = admitted(&governor, &one_request_at_a_time()).await;
    let facts = one_request_at_a_time();
    let (mut second, mut third) = (pin!(admit(&governor, &facts)), pin!(admit(&governor, &facts)));
    assert!(still_waits(&mut second).await && still_waits(&mut third).await);
    first.settle(PermitOutcome::Answered);
    let RequestAdmission::Admitted(permit) = within_timeout(&mut second).await else { panic!("parked") };
    assert!(still_waits(&mut third).await);
    drop(permit);
    assert!(matches!(within_timeout(&mut third).await, RequestAdmission::Admitted(_)), "a dropped permit is returned");
}

#[tokio::test]
async fn a_request_that_no_longer_waits_blocks_no_other() {
    let fixture = GovernorFixture::new();
    let (ours, theirs) = (fixture.governor(), fixture.governor());
    let held = admitted(&ours, &one_request_at_a_time()).await;
    let facts = one_request_at_a_time();
    assert!(still_waits(admit(&ours, &facts)).await);
    let mut next = pin!(admit(&theirs, &facts));
    assert!(still_waits(&mut next).await);
    held.settle(PermitOutcome::Answered);
    assert!(matches!(within_timeout(next).await, RequestAdmission::Admitted(_)));
}

#[tokio::test]
async fn permits_of_a_dead_process_are_free_again() {
    let fixture = GovernorFixture::new();
    let dead = format!("{}:1:an earlier boot:0", std::process::id());
    for name in [dead.as_str(), "a name of another kind"] {
        fixture.give_only_permit_to(&PermitHolder(name.into()));
        let _permit = admitted(&fixture.governor(), &one_request_at_a_time()).await;
    }
}

#[tokio::test]
async fn a_damaged_bucket_is_reset() {
    let fixture = GovernorFixture::new();
    BucketStore::open(&fixture.home).unwrap().change(KEY, |_| (r#"{"gate":"#.into(), ())).unwrap();
    let governor = fixture.governor();
    let permit = admitted(&governor, &one_request_at_a_time()).await;
    assert!(still_waits(admit(&governor, &one_request_at_a_time())).await);
    permit.settle(PermitOutcome::Answered);
    drop(governor);
    assert_eq!(fixture.bucket().requests_in_progress(), 0);
}

#[tokio::test]
async fn without_a_writable_home_a_process_limits_its_own_requests() {
    let fixture = GovernorFixture::new();
    std::fs::create_dir(fixture.home.index_db()).unwrap();
    let governor = fixture.governor();
    let permit = admitted(&governor, &one_request_at_a_time()).await;
    assert!(still_waits(admit(&governor, &one_request_at_a_time())).await);
    permit.settle(failed(ModelFault::RetryAfter { millis: 5000 }));
    assert!(still_waits(admit(&governor, &one_request_at_a_time())).await);
    fixture.clock.advance(Duration::from_secs(6));
    admitted(&governor, &one_request_at_a_time()).await.settle(PermitOutcome::Answered);
}

#[tokio::test]
async fn a_process_that_locks_the_file_blocks_no_other_and_known_limits_still_apply() {
    let fixture = GovernorFixture::new();
    let governor = fixture.governor();
    admitted(&governor, &facts()).await.settle(failed(ModelFault::RetryAfter { millis: 5000 }));
    assert!(still_waits(admit(&governor, &facts())).await);
    let (locked_sender, locked) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let home = fixture.home.clone();
    let other = thread::spawn(move || {
        let lock = |state: Option<String>| {
            locked_sender.send(()).unwrap();
            let _gone = released.recv();
            (state.unwrap_or_default(), ())
        };
        BucketStore::open(&home).unwrap().change(KEY, lock).unwrap();
    });
    locked.recv().unwrap();
    let facts = facts();
    let mut next = pin!(admit(&governor, &facts));
    assert!(still_waits(&mut next).await, "it is still closed");
    fixture.clock.advance(Duration::from_secs(6));
    assert!(matches!(within_timeout(next).await, RequestAdmission::Admitted(_)));
    drop(release);
    other.join().unwrap();
}

#[tokio::test]
async fn outcomes_are_written_before_a_governor_ends() {
    let fixture = GovernorFixture::new();
    for _ in 0..20 {
        let governor = fixture.governor();
        let permits = [admitted(&governor, &facts()).await, admitted(&governor, &facts()).await];
        permits.into_iter().for_each(|permit| permit.settle(PermitOutcome::Answered));
        drop(governor);
        assert_eq!((fixture.bucket().requests_in_progress(), fixture.bucket().holders().count()), (0, 0));
    }
}

/// D5.
#[tokio::test]
async fn a_clock_that_is_set_back_while_a_provider_is_closed_does_not_lengthen_the_wait() {
    let fixture = GovernorFixture::new();
    let governor = fixture.governor();
    admitted(&governor, &facts()).await.settle(failed(ModelFault::RetryAfter { millis: 5000 }));
    let facts = facts();
    let mut next = pin!(admit(&governor, &facts));
    assert!(still_waits(&mut next).await);
    for hours in [1, 24] {
        fixture.clock.set_back(Duration::from_secs(hours * 3600));
        assert!(still_waits(&mut next).await, "it is still closed");
    }
    let set_back = fixture.clock.now();
    while still_waits(&mut next).await {
        fixture.clock.advance(Duration::from_secs(1));
        assert!(fixture.clock.now() < set_back.plus(Duration::from_secs(60)), "it waits past the retry time");
    }
}

/// B4.
#[tokio::test]
async fn refused_connections_never_close_the_shared_bucket() {
    let fixture = GovernorFixture::new();
    let (ours, theirs) = (fixture.governor(), fixture.governor());
    for governor in [&ours, &theirs].repeat(20) {
        admitted(governor, &facts()).await.settle(failed(ModelFault::Unreachable));
    }
    // The clock has not moved: no request has waited.
    admitted(&theirs, &facts()).await.settle(PermitOutcome::Answered);
    drop((ours, theirs));
    assert_eq!((fixture.bucket().closed_until(), fixture.bucket().requests_in_progress()), (None, 0));
}
