//! Audits a run after its processes were killed: checks the log, the witness file that commands appended to, and the
//! recording of the model requests.

use std::collections::{BTreeMap, BTreeSet};

use protocol::api::TaskView;
use protocol::{Envelope, TaskId, TaskOutcome, TaskState, ToolResultStatus};
use serde::Serialize;
use serde_json::Value;

use super::logged_session::{LoggedSession, LoggedTask};
use super::workload::Workload;

/// Everything that a run produced.
#[derive(Debug)]
pub(super) struct RunArtifacts {
    pub(super) log: Vec<Envelope>,
    pub(super) tasks: Vec<TaskView>,
    /// The state of the log and the recording at each death.
    pub(super) deaths: Vec<OwnerDeath>,
    /// The lines that commands appended to the witness file.
    pub(super) witness: String,
    pub(super) recording: String,
    /// The hook input, one line per call.
    pub(super) hook_lines: String,
    /// The number of processes that are still running.
    pub(super) stray_processes: usize,
}

/// The state at the death of an owner.
#[derive(Debug)]
pub(super) struct OwnerDeath {
    pub(super) log: Vec<Envelope>,
    /// The length of the recording's whole lines.
    pub(super) recorded_bytes: usize,
}

/// A violated invariant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditFault {
    pub(super) kind: AuditFaultKind,
    /// A description for the user.
    pub(super) words: String,
}

/// The kind of violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum AuditFaultKind {
    /// An agent did not finish its work.
    Lost,
    /// A result, message or answer arrived twice or never.
    Delivery,
    /// A durable turn was requested again.
    RepeatedTurn,
    /// A call took effect twice.
    RepeatedCall,
    /// A process was left running.
    Stray,
    /// A start or stop of an activation has no counterpart.
    Unpaired,
    /// A record is wrong.
    Untrue,
}

/// Returns all violated invariants.
pub(super) fn audit_run(workload: Workload, artifacts: &RunArtifacts) -> Vec<AuditFault> {
    let history = LoggedSession::read(&artifacts.log);
    let mut audit = RunAudit { workload, artifacts, history, faults: Vec::new() };
    audit.check_log();
    audit.check_agents();
    audit.check_mail();
    audit.check_calls();
    audit.check_turns();
    audit.check_activations();
    audit.check_hooks();
    audit.check_processes();
    audit.faults
}

/// The activations that hooks saw, by agent and number.
#[derive(Debug, Default)]
struct HookedActivations {
    starts: BTreeSet<(String, u64)>,
    stops: BTreeSet<(String, u64)>,
}

impl HookedActivations {
    fn read(lines: &str) -> HookedActivations {
        let mut seen = HookedActivations::default();
        for line in lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let ids = &line["bosun"];
            let (Some(agent), Some(activation)) = (ids["agent"].as_str(), ids["activation"].as_u64()) else { continue };
            let key = (agent.to_owned(), activation);
            match ids["event"].as_str() {
                Some("subagentStart") => seen.starts.insert(key),
                Some("subagentStop") => seen.stops.insert(key),
                Some(_) | None => false,
            };
        }
        seen
    }
}

struct RunAudit<'a> {
    workload: Workload,
    artifacts: &'a RunArtifacts,
    history: LoggedSession,
    faults: Vec<AuditFault>,
}

impl RunAudit<'_> {
    fn add_fault(&mut self, kind: AuditFaultKind, words: String) {
        self.faults.push(AuditFault { kind, words });
    }

    /// All events that were durable at a death are still in the log, and it has no gaps.
    fn check_log(&mut self) {
        let log = &self.artifacts.log;
        if !log.iter().map(|envelope| envelope.seq).eq(1..=log.len() as u64) {
            self.add_fault(AuditFaultKind::Untrue, "the log has gaps".into());
        }
        for (n, death) in self.artifacts.deaths.iter().enumerate() {
            if !log.starts_with(&death.log) {
                self.add_fault(AuditFaultKind::Untrue, format!("durable events are missing since death {}", n + 1));
            }
        }
    }

    /// Every agent has finished its work and is idle.
    fn check_agents(&mut self) {
        let expected: Vec<_> = self.workload.expected().chain([("/root".into(), Workload::ANSWER.into())]).collect();
        for (path, answer) in expected {
            let Some((id, task)) = self.history.task_at(&path) else {
                self.add_fault(AuditFaultKind::Lost, format!("{path} was never started"));
                continue;
            };
            let ended = matches!(task.last_ending(), Some((TaskOutcome::Completed, text)) if *text == answer);
            let ending = task.last_ending().cloned();
            let state = self.artifacts.tasks.iter().find(|view| view.id == id).map(|view| view.state.clone());
            if !ended || state != Some(TaskState::Idle) {
                self.add_fault(AuditFaultKind::Lost, format!("{path} is {state:?} and ended with {ending:?}"));
            }
        }
        for view in &self.artifacts.tasks {
            match view.state {
                TaskState::Idle | TaskState::Finished { .. } => {}
                TaskState::Queued | TaskState::Running | TaskState::Parked { .. } | TaskState::Interrupted => {
                    let words = format!("{} is {:?} although no process runs it", view.path, view.state);
                    self.faults.push(AuditFault { kind: AuditFaultKind::Untrue, words });
                }
            }
        }
    }

    /// All mail was read once or expired; each result of the root's background agents was sent once, and no other.
    fn check_mail(&mut self) {
        let mut results: BTreeMap<_, u32> = BTreeMap::new();
        let mut faults = Vec::new();
        for (mail, mail_state) in &self.history.mail {
            if mail_state.delivered + mail_state.expired != 1 {
                let to = self.history.tasks.get(&mail_state.to).map_or("?", |task| task.path.as_str());
                faults.push(format!(
                    "{mail} to {to} was delivered {} and expired {} times",
                    mail_state.delivered, mail_state.expired
                ));
            }
            if let Some(result) = mail_state.result {
                *results.entry(result).or_default() += 1;
            }
        }
        for (id, task) in &self.history.tasks {
            let expected = u32::from(task.depth == 1 && task.background);
            for (activation, run) in &task.activations {
                let sent = results.get(&(*id, *activation)).copied().unwrap_or(0);
                // An agent that stops another may not need its result.
                let stopped = task.path == Workload::STOPPED_AGENT;
                if !run.endings.is_empty() && sent != expected && !(stopped && sent == 0) {
                    faults.push(format!("the result of {} {activation:?} was sent {sent} times", task.path));
                }
            }
        }
        faults.into_iter().for_each(|words| self.add_fault(AuditFaultKind::Delivery, words));
    }

    /// Every call has one answer. A completed call left its line once, any other at most once.
    fn check_calls(&mut self) {
        let mut lines: BTreeMap<&str, u32> = BTreeMap::new();
        self.artifacts.witness.lines().for_each(|line| *lines.entry(line).or_default() += 1);
        let witnessed = self.workload.witnessed_calls();
        let mut faults = Vec::new();
        for task in self.history.tasks.values() {
            for ((turn, call), answers) in &task.calls {
                let [answer] = answers[..] else {
                    let words = format!("{call} of turn {turn} of {} was answered {} times", task.path, answers.len());
                    faults.push((AuditFaultKind::Delivery, words));
                    continue;
                };
                if !witnessed.contains(&(task.path.clone(), call.clone())) {
                    continue;
                }
                let runs = lines.get(format!("{} {call}", task.path).as_str()).copied().unwrap_or(0);
                let is_consistent = match answer {
                    ToolResultStatus::Done => runs == 1,
                    ToolResultStatus::Interrupted => runs <= 1,
                    ToolResultStatus::Refused
                    | ToolResultStatus::Denied
                    | ToolResultStatus::Broken
                    | ToolResultStatus::Cancelled => false,
                };
                if !is_consistent {
                    let kind = if runs > 1 { AuditFaultKind::RepeatedCall } else { AuditFaultKind::Untrue };
                    faults.push((kind, format!("{call} of {} is {answer:?} and ran {runs} times", task.path)));
                }
            }
        }
        faults.into_iter().for_each(|(kind, words)| self.add_fault(kind, words));
    }

    /// After a death, no turn with a durable answer is requested again.
    fn check_turns(&mut self) {
        let mut faults = Vec::new();
        for (n, death) in self.artifacts.deaths.iter().enumerate() {
            let before = LoggedSession::read(&death.log);
            let durable: BTreeMap<&str, u32> =
                before.tasks.values().map(|LoggedTask { path, answers, .. }| (path.as_str(), *answers)).collect();
            let later = self.artifacts.recording.get(death.recorded_bytes..).unwrap_or_default();
            for line in later.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
                let (Some(path), Some(turn)) = (line["path"].as_str(), line["turn"].as_u64()) else { continue };
                if durable.get(path).is_some_and(|answers| turn <= u64::from(*answers)) {
                    faults.push(format!("turn {turn} of {path} was requested again after death {}", n + 1));
                }
            }
        }
        faults.into_iter().for_each(|words| self.add_fault(AuditFaultKind::RepeatedTurn, words));
    }

    /// Every activation ended once, and the log has one start and one stop hook run for each agent's activation.
    fn check_activations(&mut self) {
        let mut faults = Vec::new();
        for task in self.history.tasks.values() {
            for (activation, run) in &task.activations {
                let name = format!("{activation:?} of {}", task.path);
                if run.endings.len() != 1 {
                    faults.push((AuditFaultKind::Untrue, format!("{name} ended {} times", run.endings.len())));
                }
                // An activation stopped before its start hooks has no hook runs.
                let stopped = task.path == Workload::STOPPED_AGENT && run.start_hook_runs == 0;
                let expected = u32::from(task.depth > 0 && !stopped);
                let (starts, stops) = (run.start_hook_runs, run.stop_hook_runs);
                if (starts, stops) != (expected, expected) {
                    let words = format!("{name} ran start hooks {starts} times and stop hooks {stops} times");
                    faults.push((AuditFaultKind::Unpaired, words));
                }
            }
        }
        faults.into_iter().for_each(|(kind, words)| self.add_fault(kind, words));
    }

    /// Every start that hooks saw has a stop, as in the log.
    fn check_hooks(&mut self) {
        let seen = HookedActivations::read(&self.artifacts.hook_lines);
        let stopped = |(id, task): (&TaskId, &LoggedTask)| {
            let activations = task.activations.iter().filter(|(_, run)| run.stop_hook_runs > 0);
            activations.map(|(activation, _)| (id.to_string(), u64::from(activation.0))).collect::<Vec<_>>()
        };
        let logged: BTreeSet<_> = self.history.tasks.iter().flat_map(stopped).collect();
        let stopped_agent = self.history.task_at(Workload::STOPPED_AGENT).map(|(id, _)| id.to_string());
        let describe = |(id, activation): &(String, u64)| {
            let path = self.history.tasks.iter().find(|(task, _)| task.to_string() == *id);
            let path = path.map_or("an agent that is not in the log", |(_, task)| &task.path);
            format!("{path}, activation {activation}")
        };
        let unstopped = seen.starts.difference(&seen.stops).filter(|(id, _)| Some(id) != stopped_agent.as_ref());
        let mut faults: Vec<String> = unstopped.map(|key| format!("hooks saw no stop of {}", describe(key))).collect();
        let unstarted = seen.stops.difference(&seen.starts);
        faults.extend(unstarted.map(|key| format!("hooks saw no start of {}", describe(key))));
        faults.extend(logged.difference(&seen.stops).map(|key| format!("hooks never saw {}", describe(key))));
        faults.into_iter().for_each(|words| self.add_fault(AuditFaultKind::Unpaired, words));
    }

    fn check_processes(&mut self) {
        if self.artifacts.stray_processes > 0 {
            self.add_fault(
                AuditFaultKind::Stray,
                format!("{} processes are still running", self.artifacts.stray_processes),
            );
        }
    }
}

#[cfg(test)]
mod tests;
