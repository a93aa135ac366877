//! Crowds against servers that throttle: everybody gets there, and little is asked in vain.

use super::crowd::{Crowd, Plan, Report};
use super::server::{Allows, Hint, Server};

fn play(allows: Allows, hint: Hint, latency: (u64, u64), processes: usize, seed: u64) -> Report {
    let k = match allows {
        Allows::Rate { per_second, .. } | Allows::EachSecond(per_second) => per_second,
        Allows::AtOnce(_) => 0,
    };
    let turns = 15.max(10 * k / 64 + 1);
    let plan = Plan { processes, callers: 64, turns, latency, most: None, deaths: false, seed };
    Crowd::new(plan, Server::new(allows, hint)).play()
}

#[test]
fn survey() {
    for hint in [Hint::Exact, Hint::Seconds, Hint::Silent] {
        for latency in [(0, 1), (20, 60), (200, 200), (10, 200)] {
            for k in [5, 20, 100, 250, 500] {
                for (name, allows) in [
                    ("cap k", Allows::Rate { per_second: k, burst: k }),
                    ("cap k/10", Allows::Rate { per_second: k, burst: (k / 10).max(2) }),
                    ("window", Allows::EachSecond(k)),
                ] {
                    let mut worst: f64 = 0.0;
                    let mut slow: f64 = 0.0;
                    let mut closings = 0;
                    for processes in [8, 64] {
                        for seed in 0..6 {
                            let report = play(allows, hint, latency, processes, seed);
                            let total = f64::from(report.answered + report.wasted);
                            worst = worst.max(total / f64::from(report.answered));
                            let ideal = f64::from(report.answered) / f64::from(k);
                            slow = slow.max(report.ended_at as f64 / 1000.0 / ideal);
                            closings = closings.max(report.closings);
                        }
                    }
                    let flag = if worst > 1.12 { "<<<" } else { "" };
                    println!(
                        "{hint:?} {latency:?} k={k} {name}: worst {worst:.3} slow {slow:.2} closings {closings} {flag}"
                    );
                }
            }
        }
    }
}
