//! `bosun selftest`: kills Bosun in the middle of its work, again and again, and checks that nothing is lost.
//!
//! It uses temporary folders and a scripted model: it touches no files of the user and sends nothing over the network.

mod audit;
mod kill_plan;
mod logged_session;
mod report;
mod rng;
mod sandbox;
mod workload;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use config::Env;
use host::{Clock, SystemClock};
use protocol::Envelope;
use serde_json::json;
use tui::print;

use crate::args::SelftestArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use audit::{AuditFault, AuditFaultKind, audit_run};
use kill_plan::KillPlan;
use report::{SelftestRunReport, SelftestTotals};
use sandbox::SelftestSandbox;
use workload::Workload;

/// Runs the tests and prints their results.
pub(crate) fn perform(args: &SelftestArgs) -> Result<CommandExit, CliError> {
    let started = Instant::now();
    host::sibling::act_as_user()?;
    let runner = SelftestRunner { env: Env::read(), workload: Workload::of(args.agents) };
    let seed = args.seed.unwrap_or_else(|| SystemClock.now().0 % 1_000_000);
    let mut runs = Vec::new();
    let plans = if args.events {
        let (baseline, log) = runner.run(&KillPlan::without_kills(seed))?;
        baseline.print();
        runs.push(baseline);
        KillPlan::for_event_kinds(seed, &count_event_kinds(&log))
    } else {
        (0..u64::from(args.runs)).map(|n| KillPlan::random(seed + n, runner.workload.agents())).collect()
    };
    runs.extend(runner.run_all(&plans, args.jobs)?);
    let total = SelftestTotals::of(&runs, started.elapsed().as_secs_f64());
    let failed_seeds: Vec<u64> = runs.iter().filter(|run| !run.faults.is_empty()).map(|run| run.seed).collect();
    if args.json {
        print::json(&json!({ "ok": failed_seeds.is_empty(), "total": total, "runs": runs }));
    } else {
        total.print_table();
        print::output(verdict(&failed_seeds, args));
    }
    Ok(if failed_seeds.is_empty() { CommandExit::Success } else { CommandExit::Failed })
}

fn verdict(failed_seeds: &[u64], args: &SelftestArgs) -> String {
    match failed_seeds.first() {
        None => "Every killed run was resumed, and nothing was lost or done twice.".into(),
        Some(seed) if args.events => {
            format!("Faults were found. Reproduce them with: bosun selftest --chaos --events --seed {seed}")
        }
        Some(seed) => format!("Faults were found. Reproduce them with: bosun selftest --chaos --runs 1 --seed {seed}"),
    }
}

/// Counts each kind of event in a log.
fn count_event_kinds(log: &[Envelope]) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::new();
    for event in log.iter().filter_map(|envelope| serde_json::to_value(&envelope.entry.event).ok()) {
        *kinds.entry(event["type"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    kinds
}

/// The context shared by all runs.
struct SelftestRunner {
    env: Env,
    workload: Workload,
}

impl SelftestRunner {
    /// Runs the plans, `jobs` at a time; the reports are in the order of the plans.
    fn run_all(&self, plans: &[KillPlan], jobs: u32) -> Result<Vec<SelftestRunReport>, CliError> {
        let (next, reports) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let work = || {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let Some(plan) = plans.get(n) else { return };
                let run = self.run(plan).map(|(run, _log)| run).inspect(SelftestRunReport::print);
                reports.lock().unwrap_or_else(PoisonError::into_inner).insert(n, run);
            }
        };
        thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
        reports.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }

    /// Runs one plan; returns its report and log.
    fn run(&self, plan: &KillPlan) -> Result<(SelftestRunReport, Vec<Envelope>), CliError> {
        let started = Instant::now();
        let sandbox = SelftestSandbox::new(&self.env, self.workload)?;
        let result = sandbox.run_plan(plan)?;
        let mut faults = audit_run(self.workload, &result.artifacts);
        faults.extend(result.failure.map(|words| AuditFault { kind: AuditFaultKind::Untrue, words }));
        let run = SelftestRunReport {
            seed: plan.seed,
            kills: plan.kills.iter().map(ToString::to_string).collect(),
            killed: result.artifacts.deaths.len(),
            agents: self.workload.agents(),
            events: result.artifacts.log.len(),
            seconds: started.elapsed().as_secs_f64(),
            folder: (!faults.is_empty()).then(|| sandbox.keep()),
            faults,
        };
        Ok((run, result.artifacts.log))
    }
}
