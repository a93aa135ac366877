//! Crowds of callers against servers that throttle: all callers finish, and few requests are wasted.

use super::crowd::Crowd;
use super::dice::SeededRng;
use super::plan::{CrowdPlan, CrowdReport};
use super::server::{RetryHint, Server, ServerLimit};

const HINTS: [RetryHint; 3] = [RetryHint::Exact, RetryHint::Seconds, RetryHint::Silent];
const LATENCIES: [(u64, u64); 4] = [(0, 1), (20, 60), (200, 200), (0, 200)];

fn plan(turns: u32, latency: (u64, u64), seed: u64) -> CrowdPlan {
    CrowdPlan { processes: 8, callers: 64, turns, latency, server_limit: None, deaths: 0, seed }
}

/// How many requests were made per necessary request.
fn effort(report: &CrowdReport) -> f64 {
    f64::from(report.answered + report.wasted) / f64::from(report.answered)
}

#[test]
fn sixty_four_callers_waste_few_requests_at_any_rate() {
    let mut seed = 0;
    for hint in HINTS {
        for latency in LATENCIES {
            for k in [5, 17, 60, 100, 220, 500] {
                seed += 1;
                let processes = if seed % 3 == 0 { 64 } else { 8 };
                let plan = CrowdPlan { processes, ..plan(15.max(10 * k / 64 + 1), latency, seed) };
                let server = Server::new(ServerLimit::Rate { per_second: k, burst: k }, hint);
                let report = Crowd::new(plan, server).play();
                let context = format!("{hint:?} {latency:?} {k}/s: {:.3} {report:?}", effort(&report));
                assert!(effort(&report) <= 1.15, "{context}");
                // Nor do they wait too long: sixty-four callers cannot make more requests per second than this.
                let max_rate = f64::from(k).min(64_000.0 / (latency.0 + latency.1).max(1) as f64 * 2.0);
                let ideal_seconds = f64::from(report.answered) / max_rate;
                assert!(report.ended_at as f64 / 1000.0 <= 3.0 + 1.7 * ideal_seconds, "{context}");
            }
        }
    }
}

#[test]
fn eight_processes_of_eight_callers_need_at_most_a_tenth_more_requests() {
    for seed in 0..40 {
        let hint = HINTS[seed as usize % 3];
        let server = Server::new(ServerLimit::Rate { per_second: 100, burst: 100 }, hint);
        let report = Crowd::new(plan(15, (0, 5), seed), server).play();
        assert!(effort(&report) <= 1.1, "{seed}: {report:?}");
    }
}

#[test]
fn few_requests_are_wasted_on_servers_with_other_limits() {
    for (n, latency) in (0..).zip(LATENCIES) {
        let others = [
            ServerLimit::Rate { per_second: 100, burst: 5 },
            ServerLimit::Rate { per_second: 2, burst: 50 },
            ServerLimit::EachSecond(50),
            ServerLimit::AtOnce(10),
        ];
        for allows in others {
            let report = Crowd::new(plan(15, latency, n), Server::new(allows, RetryHint::Seconds)).play();
            assert!(effort(&report) <= 1.2, "{allows:?} {latency:?}: {:.3} {report:?}", effort(&report));
        }
    }
}

#[test]
fn processes_take_fair_turns_at_a_server_with_few_slots() {
    for processes in [1, 4, 20] {
        let plan = CrowdPlan { processes, callers: 20, server_limit: Some(2), ..plan(10, (100, 300), 1) };
        let report = Crowd::new(plan, Server::new(ServerLimit::AtOnce(2), RetryHint::Silent)).play();
        assert_eq!((report.wasted, report.closings), (0, 0));
        let (least, most) =
            (report.turns_by_process.iter().min().unwrap(), report.turns_by_process.iter().max().unwrap());
        assert!(most - least <= 2, "{:?}", report.turns_by_process);
    }
}

#[test]
fn a_quota_stops_all_callers_until_it_resets_and_one_probes_first() {
    for seed in 0..20 {
        let mut server = Server::new(ServerLimit::Rate { per_second: 1000, burst: 1000 }, RetryHint::Silent);
        server.quota_until = Crowd::START + 90_000;
        let report = Crowd::new(plan(3, (5, 50), seed), server).play();
        // Only the requests that were in progress when the first one reported the quota are wasted.
        assert!(report.wasted <= 32, "{report:?}");
        assert!(report.ended_at >= 90_000 && report.ended_at < 100_000, "{report:?}");
    }
}

#[test]
fn a_server_that_is_down_gets_one_probe_at_a_time() {
    for seed in 0..20 {
        let mut server = Server::new(ServerLimit::Rate { per_second: 1000, burst: 1000 }, RetryHint::Silent);
        server.down = Crowd::START + 100..Crowd::START + 60_000;
        let report = Crowd::new(plan(30, (5, 50), seed), server).play();
        // Requests in progress when it went down, a few while answers still arrived, and a probe for each closing.
        assert!(report.wasted <= 64 + 24 + 12, "{report:?}");
        assert!(report.ended_at < 100_000, "{report:?}");
    }
}

/// Any server, any crowd, with processes that die: the crowd itself checks the invariants.
#[test]
fn all_callers_finish_in_random_histories() {
    for seed in 0..300 {
        let mut rng = SeededRng(seed);
        let mut number = |from: u32, to: u32| from + u32::try_from(rng.below(u64::from(to - from) + 1)).unwrap();
        let allows = match number(0, 2) {
            0 => ServerLimit::Rate { per_second: number(1, 300), burst: number(1, 300) },
            1 => ServerLimit::EachSecond(number(1, 100)),
            _ => ServerLimit::AtOnce(number(1, 40)),
        };
        let mut server = Server::new(allows, HINTS[number(0, 2) as usize]);
        let from = Crowd::START + u64::from(number(0, 20_000));
        server.down = from..from + u64::from(number(0, 20_000));
        server.quota_until = if number(0, 3) == 0 { Crowd::START + u64::from(number(0, 100_000)) } else { 0 };
        let plan = CrowdPlan {
            processes: number(1, 12) as usize,
            callers: number(1, 40) as usize,
            turns: number(1, 12),
            latency: (u64::from(number(0, 20)), u64::from(number(20, 2000))),
            server_limit: (number(0, 3) == 0).then(|| number(1, 4)),
            deaths: number(0, 20),
            seed,
        };
        let context = format!("{seed}: {plan:?} {server:?}");
        let result = std::panic::catch_unwind(|| Crowd::new(plan, server).play());
        assert!(result.is_ok(), "{context}");
    }
}
