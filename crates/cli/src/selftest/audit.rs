//! What must hold after a run, whoever was killed in it and when: judged by the log, by the lines that commands left on
//! the witness, and by the recording of what the model was asked.

use std::collections::{BTreeMap, BTreeSet};

use protocol::api::TaskView;
use protocol::{Envelope, TaskId, TaskOutcome, TaskState, ToolResultStatus};
use serde::Serialize;
use serde_json::Value;

use super::logged_session::{LoggedSession, LoggedTask};
use super::workload::Workload;

/// Everything that a run left.
#[derive(Debug)]
pub(super) struct RunArtifacts {
    pub(super) log: Vec<Envelope>,
    pub(super) tasks: Vec<TaskView>,
    /// The state of the log and the recording at each death.
    pub(super) deaths: Vec<OwnerDeath>,
    pub(super) witness: String,
    pub(super) recording: String,
    /// What hooks were told, a line each.
    pub(super) hook_lines: String,
    /// How many processes were left.
    pub(super) strays: usize,
}

/// What was there when an owner died.
#[derive(Debug)]
pub(super) struct OwnerDeath {
    pub(super) log: Vec<Envelope>,
    /// The length of the recording's whole lines.
    pub(super) recorded: usize,
}

/// One thing that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditFault {
    pub(super) kind: AuditFaultKind,
    pub(super) words: String,
}

/// In which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum AuditFaultKind {
    /// An agent did not do its work to the end.
    Lost,
    /// A result, message or answer came twice, or never.
    Delivery,
    /// A turn that was durable was asked again.
    RepeatedTurn,
    /// A call had its effect twice.
    RepeatedCall,
    /// A process lived on.
    Stray,
    /// A start or stop of an activation has no counterpart.
    Unpaired,
    /// A record says what is not so.
    Untrue,
}

/// Everything that is not as it must be.
pub(super) fn audit_run(workload: Workload, remains: &RunArtifacts) -> Vec<AuditFault> {
    let history = LoggedSession::read(&remains.log);
    let mut audit = RunAudit { workload, artifacts: remains, history, faults: Vec::new() };
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

/// The activations that hooks were told of, by agent and number.
#[derive(Debug, Default)]
struct HookedActivations {
    starts: BTreeSet<(String, u64)>,
    stops: BTreeSet<(String, u64)>,
}

impl HookedActivations {
    fn read(lines: &str) -> HookedActivations {
        let mut told = HookedActivations::default();
        for line in lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let ids = &line["bosun"];
            let (Some(agent), Some(activation)) = (ids["agent"].as_str(), ids["activation"].as_u64()) else { continue };
            let one = (agent.to_owned(), activation);
            match ids["event"].as_str() {
                Some("subagentStart") => told.starts.insert(one),
                Some("subagentStop") => told.stops.insert(one),
                Some(_) | None => false,
            };
        }
        told
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

    /// What was durable at a death is still there, and nothing is missing in between.
    fn check_log(&mut self) {
        let log = &self.artifacts.log;
        if !log.iter().map(|envelope| envelope.seq).eq(1..=log.len() as u64) {
            self.add_fault(AuditFaultKind::Untrue, "the log has gaps".into());
        }
        for (n, death) in self.artifacts.deaths.iter().enumerate() {
            if !log.starts_with(&death.log) {
                self.add_fault(AuditFaultKind::Untrue, format!("what was durable at death {} is not kept", n + 1));
            }
        }
    }

    /// Every agent has done its work and rests.
    fn check_agents(&mut self) {
        let expected: Vec<_> = self.workload.expected().chain([("/root".into(), Workload::ANSWER.into())]).collect();
        for (path, words) in expected {
            let Some((id, past)) = self.history.task_at(&path) else {
                self.add_fault(AuditFaultKind::Lost, format!("{path} was never started"));
                continue;
            };
            let ended = matches!(past.last_ending(), Some((TaskOutcome::Completed, text)) if *text == words);
            let ending = past.last_ending().cloned();
            let state = self.artifacts.tasks.iter().find(|view| view.id == id).map(|view| view.state.clone());
            if !ended || state != Some(TaskState::Idle) {
                self.add_fault(AuditFaultKind::Lost, format!("{path} is {state:?} and ended with {ending:?}"));
            }
        }
        for view in &self.artifacts.tasks {
            match view.state {
                TaskState::Idle | TaskState::Finished { .. } => {}
                TaskState::Queued | TaskState::Running | TaskState::Parked { .. } | TaskState::Interrupted => {
                    let words = format!("{} is {:?} though nobody runs it", view.path, view.state);
                    self.faults.push(AuditFault { kind: AuditFaultKind::Untrue, words });
                }
            }
        }
    }

    /// All mail is read once or expired; every result of the root's background agents is mail once, no other is.
    fn check_mail(&mut self) {
        let mut results: BTreeMap<_, u32> = BTreeMap::new();
        let mut faults = Vec::new();
        for (mail, post) in &self.history.mail {
            if post.delivered + post.expired != 1 {
                let to = self.history.tasks.get(&post.to).map_or("?", |past| past.path.as_str());
                faults.push(format!(
                    "{mail} to {to} was delivered {} and expired {} times",
                    post.delivered, post.expired
                ));
            }
            if let Some(result) = post.result {
                *results.entry(result).or_default() += 1;
            }
        }
        for (id, past) in &self.history.tasks {
            let wanted = u32::from(past.depth == 1 && past.background);
            for (activation, stay) in &past.activations {
                let sent = results.get(&(*id, *activation)).copied().unwrap_or(0);
                // Whoever stops an agent may have no use for its result.
                let stopped = past.path == Workload::DOOMED;
                if !stay.endings.is_empty() && sent != wanted && !(stopped && sent == 0) {
                    faults.push(format!("the result of {} {activation:?} was sent {sent} times", past.path));
                }
            }
        }
        faults.into_iter().for_each(|words| self.add_fault(AuditFaultKind::Delivery, words));
    }

    /// Every call has one answer; one that was done left its line once, any other at most once.
    fn check_calls(&mut self) {
        let mut lines: BTreeMap<&str, u32> = BTreeMap::new();
        self.artifacts.witness.lines().for_each(|line| *lines.entry(line).or_default() += 1);
        let witnessed = self.workload.calls();
        let mut faults = Vec::new();
        for past in self.history.tasks.values() {
            for ((turn, call), answers) in &past.calls {
                let [answer] = answers[..] else {
                    let words = format!("{call} of turn {turn} of {} was answered {} times", past.path, answers.len());
                    faults.push((AuditFaultKind::Delivery, words));
                    continue;
                };
                if !witnessed.contains(&(past.path.clone(), call.clone())) {
                    continue;
                }
                let times = lines.get(format!("{} {call}", past.path).as_str()).copied().unwrap_or(0);
                let said = match answer {
                    ToolResultStatus::Done => times == 1,
                    ToolResultStatus::Interrupted => times <= 1,
                    ToolResultStatus::Refused
                    | ToolResultStatus::Denied
                    | ToolResultStatus::Broken
                    | ToolResultStatus::Cancelled => false,
                };
                if !said {
                    let kind = if times > 1 { AuditFaultKind::RepeatedCall } else { AuditFaultKind::Untrue };
                    faults.push((kind, format!("{call} of {} is {answer:?} and ran {times} times", past.path)));
                }
            }
        }
        faults.into_iter().for_each(|(kind, words)| self.add_fault(kind, words));
    }

    /// After a death, no model is asked for a turn whose answer was durable.
    fn check_turns(&mut self) {
        let mut faults = Vec::new();
        for (n, death) in self.artifacts.deaths.iter().enumerate() {
            let before = LoggedSession::read(&death.log);
            let durable: BTreeMap<&str, u32> =
                before.tasks.values().map(|LoggedTask { path, answers, .. }| (path.as_str(), *answers)).collect();
            let later = self.artifacts.recording.get(death.recorded..).unwrap_or_default();
            for line in later.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
                let (Some(path), Some(turn)) = (line["path"].as_str(), line["turn"].as_u64()) else { continue };
                if durable.get(path).is_some_and(|answers| turn <= u64::from(*answers)) {
                    faults.push(format!("turn {turn} of {path} was asked again after death {}", n + 1));
                }
            }
        }
        faults.into_iter().for_each(|words| self.add_fault(AuditFaultKind::RepeatedTurn, words));
    }

    /// Every activation ended once; hooks were told of the start and the stop of each agent's, once in the log.
    fn check_activations(&mut self) {
        let mut faults = Vec::new();
        for past in self.history.tasks.values() {
            for (activation, stay) in &past.activations {
                let name = format!("{activation:?} of {}", past.path);
                if stay.endings.len() != 1 {
                    faults.push((AuditFaultKind::Untrue, format!("{name} ended {} times", stay.endings.len())));
                }
                // Whoever is stopped before its start was told has nothing to be told of.
                let stopped = past.path == Workload::DOOMED && stay.start_hook_runs == 0;
                let wanted = u32::from(past.depth > 0 && !stopped);
                if (stay.start_hook_runs, stay.stop_hook_runs) != (wanted, wanted) {
                    let words =
                        format!("{name} was greeted {} and parted {} times", stay.start_hook_runs, stay.stop_hook_runs);
                    faults.push((AuditFaultKind::Unpaired, words));
                }
            }
        }
        faults.into_iter().for_each(|(kind, words)| self.add_fault(kind, words));
    }

    /// Whatever hooks were told began, they were told ended, and it is what the log says.
    fn check_hooks(&mut self) {
        let told = HookedActivations::read(&self.artifacts.hook_lines);
        let of = |(id, past): (&TaskId, &LoggedTask)| {
            let parted = past.activations.iter().filter(|(_, stay)| stay.stop_hook_runs > 0);
            parted.map(|(activation, _)| (id.to_string(), u64::from(activation.0))).collect::<Vec<_>>()
        };
        let logged: BTreeSet<_> = self.history.tasks.iter().flat_map(of).collect();
        let doomed = self.history.task_at(Workload::DOOMED).map(|(id, _)| id.to_string());
        let differs = |(id, activation): &(String, u64)| {
            let path = self.history.tasks.iter().find(|(task, _)| task.to_string() == *id);
            let path = path.map_or("an agent that is not in the log", |(_, past)| &past.path);
            format!("{path}, activation {activation}")
        };
        let unstopped = told.starts.difference(&told.stops).filter(|(id, _)| Some(id) != doomed.as_ref());
        let mut faults: Vec<String> = unstopped.map(|one| format!("no stop was told of {}", differs(one))).collect();
        faults.extend(told.stops.difference(&told.starts).map(|one| format!("no start was told of {}", differs(one))));
        faults.extend(logged.difference(&told.stops).map(|one| format!("hooks never heard of {}", differs(one))));
        faults.into_iter().for_each(|words| self.add_fault(AuditFaultKind::Unpaired, words));
    }

    fn check_processes(&mut self) {
        if self.artifacts.strays > 0 {
            self.add_fault(AuditFaultKind::Stray, format!("{} processes live on", self.artifacts.strays));
        }
    }
}

#[cfg(test)]
mod tests;
