//! Many processes that share the limits of one provider.

use std::thread;
use std::time::{Duration, Instant};

use testkit::server::{FaultPlan, Hint, ModelServer, ProviderFault};

use super::MODELS;
use crate::crowds::run_concurrently;
use crate::fixture;
use crate::scripts::{HELLO, turns};

#[test]
fn thirty_two_processes_share_a_rate_limit_with_few_refusals() {
    // Each process has a thread here, and the server runs here too: with more, the test would measure itself. Eight
    // processes with eight sessions each are in the test kit's own tests.
    const PROCESSES: usize = 32;
    const TURNS: u32 = 15;
    let fixture = fixture();
    let server = ModelServer::script(&turns(TURNS)).allow(100, Hint::RetryAfter).start();
    for run in run_concurrently(PROCESSES, |_| fixture.prompt_over(&server, MODELS[0], "go").run()) {
        assert_eq!(run.expect(0).stdout, "Done.\n");
    }
    let needed = PROCESSES * TURNS as usize;
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|seen| seen.status == Some(200)).count(), needed);
    assert!(requests.len() * 10 <= needed * 12, "{} requests for {needed}", requests.len());
}

#[test]
fn closed_provider_is_probed_by_one_process_at_a_time() {
    const PROCESSES: usize = 12;
    const FAULTS: usize = 4;
    const PAUSE: Duration = Duration::from_secs(1);
    let throttled = ProviderFault::Status { code: 429, retry_after: Some(PAUSE) };
    let server = ModelServer::script(HELLO).faults(FaultPlan::none().between(1, FAULTS as u64, throttled)).start();
    let fixture = fixture();
    for run in run_concurrently(PROCESSES, |_| fixture.prompt_over(&server, MODELS[0], "go").run()) {
        assert_eq!(run.expect(0).stdout, "Hello.\n");
    }
    let times: Vec<Instant> = server.requests().iter().map(|seen| seen.at).collect();
    assert_eq!(times.len(), PROCESSES + FAULTS);
    // Some requests may arrive together before the first refusal; after that, probes come one at a time.
    let probes: Vec<Instant> = times[..=FAULTS].iter().copied().filter(|at| *at - times[0] >= PAUSE).collect();
    assert!(probes.windows(2).all(|pair| pair[1] - pair[0] >= PAUSE), "{times:?}");
}

#[test]
fn quota_hit_by_one_process_stops_the_others() {
    const QUOTA: Duration = Duration::from_secs(5);
    let fixture = fixture();
    let server = ModelServer::script(HELLO).faults(FaultPlan::none().on(1, ProviderFault::Quota(QUOTA))).start();
    let run = || fixture.prompt_over(&server, MODELS[0], "go");
    let first = run().start();
    let is_parked = || {
        thread::sleep(Duration::from_millis(10));
        fixture.sessions().iter().any(|session| session["state"] == "parked")
    };
    assert!((0..300).any(|_| is_parked()), "the first is not parked");
    for run in run_concurrently(10, |_| run().run()) {
        assert_eq!(run.expect(0).stdout, "Hello.\n");
    }
    assert_eq!(first.wait().expect(0).stdout, "Hello.\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 1 + 11);
    assert!(requests[1..].iter().all(|seen| seen.at - requests[0].at >= QUOTA), "{requests:?}");
}
