//! Reports of selftest runs.

use std::path::PathBuf;

use serde::Serialize;
use tui::print;

use super::audit::{AuditFault, AuditFaultKind};

/// The report of one run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SelftestRunReport {
    pub(super) seed: u64,
    /// When its owners were to be killed.
    pub(super) kills: Vec<String>,
    /// How many owners were killed.
    pub(super) killed: usize,
    pub(super) agents: u32,
    pub(super) events: usize,
    pub(super) seconds: f64,
    pub(super) faults: Vec<AuditFault>,
    /// The folder with all its files, if there are faults.
    pub(super) folder: Option<PathBuf>,
}

impl SelftestRunReport {
    /// Prints a line with the outcome, and all faults.
    pub(super) fn print(&self) {
        let kills = if self.kills.is_empty() { "none".into() } else { self.kills.join(", ") };
        let verdict = if self.faults.is_empty() { "ok" } else { "FAULTY" };
        print::note(format_args!("{verdict}  seed {}  {:.1} s  killed: {kills}", self.seed, self.seconds));
        for AuditFault { kind, words } in &self.faults {
            print::note(format_args!("    {kind:?}: {words}"));
        }
        if let Some(folder) = &self.folder {
            print::note(format_args!("    its files are in {}", folder.display()));
        }
    }
}

/// All runs together.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SelftestTotals {
    runs: usize,
    kills: usize,
    agents: u64,
    lost: usize,
    wrong_deliveries: usize,
    repeated_turns: usize,
    repeated_calls: usize,
    strays: usize,
    unpaired: usize,
    untrue: usize,
    seconds: f64,
}

impl SelftestTotals {
    pub(super) fn of(runs: &[SelftestRunReport], seconds: f64) -> SelftestTotals {
        let count =
            |kind: AuditFaultKind| runs.iter().flat_map(|run| &run.faults).filter(|fault| fault.kind == kind).count();
        SelftestTotals {
            runs: runs.len(),
            kills: runs.iter().map(|run| run.killed).sum(),
            agents: runs.iter().map(|run| u64::from(run.agents)).sum(),
            lost: count(AuditFaultKind::Lost),
            wrong_deliveries: count(AuditFaultKind::Delivery),
            repeated_turns: count(AuditFaultKind::RepeatedTurn),
            repeated_calls: count(AuditFaultKind::RepeatedCall),
            strays: count(AuditFaultKind::Stray),
            unpaired: count(AuditFaultKind::Unpaired),
            untrue: count(AuditFaultKind::Untrue),
            seconds,
        }
    }

    /// Prints a table with a row for each total.
    pub(super) fn print_table(&self) {
        let rows: [(&str, String); 11] = [
            ("runs", self.runs.to_string()),
            ("owners killed", self.kills.to_string()),
            ("agents", self.agents.to_string()),
            ("agents lost", self.lost.to_string()),
            ("wrong deliveries", self.wrong_deliveries.to_string()),
            ("repeated turns", self.repeated_turns.to_string()),
            ("repeated calls", self.repeated_calls.to_string()),
            ("processes left", self.strays.to_string()),
            ("unpaired starts and stops", self.unpaired.to_string()),
            ("wrong records", self.untrue.to_string()),
            ("seconds", format!("{:.1}", self.seconds)),
        ];
        for (name, value) in rows {
            print::row(format_args!("{name:<26} {value:>8}"));
        }
    }
}
