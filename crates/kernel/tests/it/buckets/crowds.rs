//! Crowds against servers that throttle: everybody gets there, and little is asked in vain.

use super::crowd::Crowd;
use super::dice::Dice;
use super::plan::{Plan, Report};
use super::server::{Allows, Hint, Server};

const HINTS: [Hint; 3] = [Hint::Exact, Hint::Seconds, Hint::Silent];
const LATENCIES: [(u64, u64); 4] = [(0, 1), (20, 60), (200, 200), (0, 200)];

fn plan(turns: u32, latency: (u64, u64), seed: u64) -> Plan {
    Plan { processes: 8, callers: 64, turns, latency, most: None, deaths: 0, seed }
}

/// How many requests were made for each that was needed.
fn effort(report: &Report) -> f64 {
    f64::from(report.answered + report.wasted) / f64::from(report.answered)
}

#[test]
fn sixty_four_callers_waste_little_whatever_the_rate() {
    let mut seed = 0;
    for hint in HINTS {
        for latency in LATENCIES {
            for k in [5, 17, 60, 100, 220, 500] {
                seed += 1;
                let processes = if seed % 3 == 0 { 64 } else { 8 };
                let plan = Plan { processes, ..plan(15.max(10 * k / 64 + 1), latency, seed) };
                let server = Server::new(Allows::Rate { per_second: k, burst: k }, hint);
                let report = Crowd::new(plan, server).play();
                let told = format!("{hint:?} {latency:?} {k}/s: {:.3} {report:?}", effort(&report));
                assert!(effort(&report) <= 1.15, "{told}");
                // Not by waiting for ever, either. Sixty-four callers cannot make more than this.
                let most = f64::from(k).min(64_000.0 / (latency.0 + latency.1).max(1) as f64 * 2.0);
                let ideal = f64::from(report.answered) / most;
                assert!(report.ended_at as f64 / 1000.0 <= 3.0 + 1.7 * ideal, "{told}");
            }
        }
    }
}

#[test]
fn eight_processes_of_eight_finish_with_a_tenth_more_requests_than_needed() {
    for seed in 0..40 {
        let hint = HINTS[seed as usize % 3];
        let server = Server::new(Allows::Rate { per_second: 100, burst: 100 }, hint);
        let report = Crowd::new(plan(15, (0, 5), seed), server).play();
        assert!(effort(&report) <= 1.1, "{seed}: {report:?}");
    }
}

#[test]
fn servers_that_count_otherwise_are_found_out_as_well() {
    for (n, latency) in (0..).zip(LATENCIES) {
        let others = [
            Allows::Rate { per_second: 100, burst: 5 },
            Allows::Rate { per_second: 2, burst: 50 },
            Allows::EachSecond(50),
            Allows::AtOnce(10),
        ];
        for allows in others {
            let report = Crowd::new(plan(15, latency, n), Server::new(allows, Hint::Seconds)).play();
            assert!(effort(&report) <= 1.2, "{allows:?} {latency:?}: {:.3} {report:?}", effort(&report));
        }
    }
}

#[test]
fn a_server_that_takes_one_at_a_time_is_given_one_at_a_time_in_turn() {
    for processes in [1, 4, 20] {
        let plan = Plan { processes, callers: 20, most: Some(2), ..plan(10, (100, 300), 1) };
        let report = Crowd::new(plan, Server::new(Allows::AtOnce(2), Hint::Silent)).play();
        assert_eq!((report.wasted, report.closings), (0, 0));
        let (least, most) = (report.shares.iter().min().unwrap(), report.shares.iter().max().unwrap());
        assert!(most - least <= 2, "{:?}", report.shares);
    }
}

#[test]
fn a_quota_stops_everybody_until_it_resets_and_one_tries_first() {
    for seed in 0..20 {
        let mut server = Server::new(Allows::Rate { per_second: 1000, burst: 1000 }, Hint::Silent);
        server.quota_until = Crowd::START + 90_000;
        let report = Crowd::new(plan(3, (5, 50), seed), server).play();
        // Only those are wasted who were under way when the first heard of it.
        assert!(report.wasted <= 32, "{report:?}");
        assert!(report.ended_at >= 90_000 && report.ended_at < 100_000, "{report:?}");
    }
}

#[test]
fn a_server_that_is_down_is_tried_by_one_at_a_time() {
    for seed in 0..20 {
        let mut server = Server::new(Allows::Rate { per_second: 1000, burst: 1000 }, Hint::Silent);
        server.down = Crowd::START + 100..Crowd::START + 60_000;
        let report = Crowd::new(plan(30, (5, 50), seed), server).play();
        // Those under way when it went down, a few while answers still came in, and a probe for each closing.
        assert!(report.wasted <= 64 + 24 + 12, "{report:?}");
        assert!(report.ended_at < 100_000, "{report:?}");
    }
}

/// Any server, any crowd, with processes that die: the crowd itself checks what must always hold.
#[test]
fn everybody_gets_there_in_random_histories() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let mut number = |from: u32, to: u32| from + u32::try_from(dice.below(u64::from(to - from) + 1)).unwrap();
        let allows = match number(0, 2) {
            0 => Allows::Rate { per_second: number(1, 300), burst: number(1, 300) },
            1 => Allows::EachSecond(number(1, 100)),
            _ => Allows::AtOnce(number(1, 40)),
        };
        let mut server = Server::new(allows, HINTS[number(0, 2) as usize]);
        let from = Crowd::START + u64::from(number(0, 20_000));
        server.down = from..from + u64::from(number(0, 20_000));
        server.quota_until = if number(0, 3) == 0 { Crowd::START + u64::from(number(0, 100_000)) } else { 0 };
        let plan = Plan {
            processes: number(1, 12) as usize,
            callers: number(1, 40) as usize,
            turns: number(1, 12),
            latency: (u64::from(number(0, 20)), u64::from(number(20, 2000))),
            most: (number(0, 3) == 0).then(|| number(1, 4)),
            deaths: number(0, 20),
            seed,
        };
        let asked = format!("{seed}: {plan:?} {server:?}");
        let played = std::panic::catch_unwind(|| Crowd::new(plan, server).play());
        assert!(played.is_ok(), "{asked}");
    }
}
