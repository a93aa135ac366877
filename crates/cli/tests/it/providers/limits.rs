//! Many processes that share one provider's limits.

use std::thread;
use std::time::{Duration, Instant};

use testkit::server::{FaultPlan, Hint, ModelServer, ProviderFault};

use super::MODELS;
use crate::crowds::at_once;
use crate::scripts::{HELLO, turns};
use crate::stage;

#[test]
fn thirty_two_processes_at_a_hundred_requests_a_second_finish_with_few_in_vain() {
    // Each has a thread here that follows it, and the server runs beside them: more would measure this process. Eight
    // processes of eight sessions are in the test kit's own tests.
    const PROCESSES: usize = 32;
    const TURNS: u32 = 15;
    let stage = stage();
    let server = ModelServer::script(&turns(TURNS)).allow(100, Hint::RetryAfter).start();
    for run in at_once(PROCESSES, |_| stage.prompt_over(&server, MODELS[0], "go").run()) {
        assert_eq!(run.expect(0).stdout, "Done.\n");
    }
    let needed = PROCESSES * TURNS as usize;
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|seen| seen.status == Some(200)).count(), needed);
    assert!(requests.len() * 10 <= needed * 12, "{} requests for {needed}", requests.len());
}

#[test]
fn a_closed_provider_is_tried_by_one_process_at_a_time() {
    const PROCESSES: usize = 12;
    const FAULTS: usize = 4;
    const PAUSE: Duration = Duration::from_secs(1);
    let throttled = ProviderFault::Status { code: 429, retry_after: Some(PAUSE) };
    let server = ModelServer::script(HELLO).faults(FaultPlan::none().between(1, FAULTS as u64, throttled)).start();
    let stage = stage();
    for run in at_once(PROCESSES, |_| stage.prompt_over(&server, MODELS[0], "go").run()) {
        assert_eq!(run.expect(0).stdout, "Hello.\n");
    }
    let times: Vec<Instant> = server.requests().iter().map(|seen| seen.at).collect();
    assert_eq!(times.len(), PROCESSES + FAULTS);
    // Some may have come together before the first of them was told; then each came alone, until one was answered.
    let probes: Vec<Instant> = times[..=FAULTS].iter().copied().filter(|at| *at - times[0] >= PAUSE).collect();
    assert!(probes.windows(2).all(|pair| pair[1] - pair[0] >= PAUSE), "{times:?}");
}

#[test]
fn a_quota_that_one_process_meets_stops_the_others_until_it_resets() {
    const QUOTA: Duration = Duration::from_secs(5);
    let stage = stage();
    let server = ModelServer::script(HELLO).faults(FaultPlan::none().on(1, ProviderFault::Quota(QUOTA))).start();
    let run = || stage.prompt_over(&server, MODELS[0], "go");
    let first = run().start();
    let is_parked = || {
        thread::sleep(Duration::from_millis(10));
        stage.sessions().iter().any(|session| session["state"] == "parked")
    };
    assert!((0..300).any(|_| is_parked()), "the first is not parked");
    for run in at_once(10, |_| run().run()) {
        assert_eq!(run.expect(0).stdout, "Hello.\n");
    }
    assert_eq!(first.wait().expect(0).stdout, "Hello.\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 1 + 11);
    assert!(requests[1..].iter().all(|seen| seen.at - requests[0].at >= QUOTA), "{requests:?}");
}
