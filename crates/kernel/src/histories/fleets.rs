//! Fleets in random histories: authors edit plans, workers succeed, fail, report false statuses, stop and lose their
//! leases, and owners die. After each step, the kernel, the log and the table must agree on the todos.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use protocol::*;

use super::in_parallel;
use super::simulated_session::SimulatedSession;
use crate::state::SessionAdmission;
use crate::*;

pub(super) const STEPS: usize = 60;
const CASES: u64 = 10_000;

/// The agent types that todos name; for the first two, the number that may run at once is limited.
const AGENT_TYPES: [Option<&str>; 4] = [Some("build"), Some("look"), Some("think"), None];

pub(super) struct FleetHistory {
    pub(super) session: SimulatedSession,
    /// The expected `todos` table: the projection of the log, and changes that the log does not have yet.
    table: BTreeMap<TodoId, Todo>,
    /// The current claims according to the log: worker and fence.
    current_claims: BTreeMap<TodoId, (TaskId, u64)>,
    fence: u64,
    /// How many log entries were read.
    entries_read: usize,
    /// How many claims there were in total.
    claim_count: u32,
    refusals: BTreeSet<&'static str>,
}

impl FleetHistory {
    pub(super) fn new(seed: u64) -> FleetHistory {
        let limits = SessionLimits {
            live: 1 + (seed % 5) as u32,
            depth: 3,
            total: 200,
            rate: 200,
            max_by_type: [("build".to_owned(), 1), ("look".to_owned(), 2)].into(),
            grace: Duration::from_millis(50),
            max_stop_blocks: 1,
            max_expectation_retries: 1,
            max_continues: 2,
            max_autopilot_turns: 50,
            result_window: Duration::from_millis(20),
        };
        let mut fleet = FleetHistory {
            session: SimulatedSession::with_limits(seed, limits),
            table: BTreeMap::new(),
            current_claims: BTreeMap::new(),
            fence: 0,
            entries_read: 0,
            claim_count: 0,
            refusals: BTreeSet::new(),
        };
        for _ in 0..fleet.session.rng.below(12) {
            fleet.change_random_todo(Principal::User);
        }
        fleet
    }

    pub(super) fn step(&mut self) {
        match self.session.rng.below(22) {
            20 => self.set_random_todo_state(),
            21 => self.merge_random_todo(),
            0..11 => self.session.step(),
            11..14 => self.dispatch(),
            14..16 => self.claim_random_todo(),
            16 => self.change_random_todo(Principal::User),
            17 => {
                let by = self.session.kernel.root().map_or(Principal::User, |id| Principal::Task { id });
                self.change_random_todo(by);
            }
            18 => self.report_false_status(),
            _ => self.begin_or_end(),
        }
        self.check();
    }

    fn apply(&mut self, input: KernelInput) -> Option<InputRefusal> {
        let refusal = self.session.try_apply(input);
        self.sync();
        refusal
    }

    fn begin_or_end(&mut self) {
        if self.session.kernel.graph().fleet().is_some() && !self.session.rng.one_in(4) {
            return;
        }
        let config = FleetConfig {
            agent: None,
            goal: "all of it".into(),
            parallel: Some(1 + self.session.rng.below(4) as u32).filter(|_| self.session.rng.one_in(2)),
            retries: self.session.rng.below(3) as u32,
            rounds: 1,
            isolated: false,
            dirty: false,
            merge: false,
            check: None,
            plan: None,
        };
        let cycle = self.session.kernel.graph().cycle();
        match self.session.kernel.graph().fleet() {
            Some(_) => {
                let why = self.session.rng.one_in(2).then_some(FleetStopReason::Budget);
                assert_eq!(self.apply(KernelInput::EndFleet { end: FleetEnd::Stopped, why }), None);
            }
            None => assert_eq!(self.apply(KernelInput::BeginFleet(config)), cycle.map(InputRefusal::TodoCycle)),
        }
    }

    /// Starts a worker for every due todo, and checks that no ready todo is left that could have a slot.
    fn dispatch(&mut self) {
        let due = self.session.kernel.due_todos("think");
        for todo in due {
            match self.claim(&todo) {
                None => {}
                // The caller learns that the session has reached its limit of agents, and can block the todo.
                Some(InputRefusal::Total { .. }) => return,
                Some(refusal) => panic!("{todo} was due, but: {refusal}"),
            }
        }
        let kernel = &self.session.kernel;
        assert_eq!(kernel.due_todos("think"), []);
        let Some(config) = kernel.graph().fleet() else { return };
        let slots = &kernel.state.slots;
        let is_full = (slots.held as usize + slots.starting.len() + slots.returning.len())
            >= self.session.limits.live as usize
            || config.parallel.is_some_and(|cap| kernel.graph().claimed() >= cap)
            || kernel.state.admission == SessionAdmission::Closed
            || kernel.root().and_then(|root| kernel.task(root)).is_some_and(|root| root.cancel.is_some());
        for (todo, node) in kernel.graph().ready().filter(|_| !is_full) {
            let agent_type = node.agent.as_deref().unwrap_or("think");
            let cap = self.session.limits.max_by_type.get(agent_type).copied().unwrap_or(u32::MAX);
            assert!(
                slots.held_or_queued_by(agent_type) >= cap,
                "{todo} is ready and a slot is free, but no agent works on it"
            );
        }
    }

    fn claim(&mut self, todo: &TodoId) -> Option<InputRefusal> {
        let id = self.session.new_id();
        let agent = self.session.kernel.graph().node(todo).and_then(|node| node.agent.clone());
        let agent = agent.as_deref().unwrap_or("think").to_owned();
        let spec = TaskSpec { todo: Some(todo.clone()), ..TaskSpec::new(TaskType::Agent, agent, todo.0.as_str()) };
        self.apply(KernelInput::Spawn(TaskSpawn {
            id,
            spec,
            prompt: "do it".into(),
            by: None,
            until: None,
            definition: None,
            redo_reason: None,
        }))
    }

    /// Tries to claim a random todo. This must succeed only if it is ready and unclaimed.
    fn claim_random_todo(&mut self) {
        let todos: Vec<TodoId> = self.table.keys().cloned().collect();
        let Some(todo) = self.session.rng.pick(&todos) else { return };
        let graph = self.session.kernel.graph();
        let (fleet, ready, is_claimed) =
            (graph.fleet().is_some(), graph.is_ready(&todo), self.current_claims.contains_key(&todo));
        match self.claim(&todo) {
            None => assert!(fleet && ready && !is_claimed, "{todo} was claimed"),
            Some(InputRefusal::TodoClaimed { .. }) => assert!(is_claimed && self.note_refusal("held")),
            Some(InputRefusal::TodoNotReady(_)) => assert!(!ready && !is_claimed && self.note_refusal("not ready")),
            Some(InputRefusal::ClaimLimit { .. }) => assert!(ready && self.note_refusal("enough")),
            Some(InputRefusal::NoFleet) => assert!(!fleet),
            Some(_) => {}
        }
    }

    fn note_refusal(&mut self, why: &'static str) -> bool {
        self.refusals.insert(why);
        true
    }

    /// Adds, changes or removes a random todo on behalf of an author who may do so.
    fn change_random_todo(&mut self, by: Principal) {
        let rng = &mut self.session.rng;
        let id = TodoId(format!("t{}", rng.below(14)));
        if self.table.contains_key(&id) && rng.one_in(6) {
            self.table.remove(&id);
            // The rows that depend on it lose the dependency.
            let changed: Vec<Todo> = self.table.values_mut().filter_map(|todo| remove_dependency(todo, &id)).collect();
            self.apply(KernelInput::TodosChanged { by, changed, gone: vec![id], upto: 0 });
            return;
        }
        let known: Vec<TodoId> = self.table.keys().filter(|known| **known != id).cloned().collect();
        let depends_on: BTreeSet<TodoId> = (0..rng.below(3)).filter_map(|_| rng.pick(&known)).collect();
        let status = match rng.below(6) {
            0 => rng.pick(&TodoStatus::ALL).unwrap_or_default(),
            _ => TodoStatus::Pending,
        };
        let agent_type = rng.pick(&AGENT_TYPES).flatten().map(str::to_owned);
        let todo = Todo {
            depends_on: depends_on.into_iter().collect(),
            status,
            agent_type,
            ..Todo::new(id.0.clone(), "work")
        };
        self.table.insert(id, todo.clone());
        self.apply(KernelInput::TodosChanged { by, changed: vec![todo], gone: Vec::new(), upto: 0 });
    }

    /// Tries to change the state of a random todo, as the runtime does. This must succeed only if nobody has claimed it.
    fn set_random_todo_state(&mut self) {
        let todos: Vec<TodoId> = self.table.keys().cloned().collect();
        let Some(todo) = self.session.rng.pick(&todos) else { return };
        let is_claimed = self.current_claims.contains_key(&todo);
        let to = match self.session.rng.below(3) {
            0 => TodoTransition::Reuse(None),
            1 => TodoTransition::Block("no key".into()),
            _ => TodoTransition::Reopen,
        };
        let refusal = self.apply(KernelInput::SetTodoState { todo, to });
        assert_eq!(refusal.is_some(), is_claimed, "{refusal:?}");
    }

    fn merge_random_todo(&mut self) {
        let todo = TodoId(format!("t{}", self.session.rng.below(14)));
        let is_known = self.table.contains_key(&todo);
        let refusal = self.apply(KernelInput::MergeTodo { todo, commit: "c2".into() });
        assert_eq!(refusal.is_none(), is_known, "{refusal:?}");
        if self.session.rng.one_in(4) {
            let summary = MergeSummary {
                todos: Vec::new(),
                predicted_conflicts: Vec::new(),
                base: "c1".into(),
                tip: "c2".into(),
                stat: String::new(),
                destination: MergeDestination::NoChange,
                leftover_checkouts: Vec::new(),
            };
            assert_eq!(self.apply(KernelInput::MergeFleet(Box::new(summary))), None);
        }
    }

    /// Has a worker write a random status to a todo. While a fleet works, this must change nothing.
    fn report_false_status(&mut self) {
        let workers: Vec<TaskId> =
            self.session.kernel.tasks().filter(|task| task.depth > 0).map(|task| task.id).collect();
        let todos: Vec<Todo> = self.table.values().cloned().collect();
        let (Some(id), Some(todo)) = (self.session.rng.pick(&workers), self.session.rng.pick(&todos)) else { return };
        let before = self.session.kernel.graph().node(&todo.id).map(|node| node.progress.clone());
        let status = self.session.rng.pick(&TodoStatus::ALL).unwrap_or_default();
        let written = Todo { status, ..todo.clone() };
        self.table.insert(todo.id.clone(), written.clone());
        self.apply(KernelInput::TodosChanged {
            by: Principal::Task { id },
            changed: vec![written],
            gone: Vec::new(),
            upto: 0,
        });
        if self.session.kernel.graph().fleet().is_some() {
            let after = self.session.kernel.graph().node(&todo.id).map(|node| node.progress.clone());
            assert_eq!(after, before, "{id} changed the status of {}", todo.id);
        }
    }

    /// Applies new log entries to the expected table and claims.
    fn sync(&mut self) {
        let new_entries: Vec<LogEntry> = self.session.log[self.entries_read..].to_vec();
        for entry in new_entries {
            match &entry.event {
                Event::TodosChanged { changed, gone, .. } => {
                    for todo in changed {
                        self.table.insert(todo.id.clone(), todo.clone());
                    }
                    self.current_claims.retain(|todo, _| !gone.contains(todo));
                }
                Event::FleetBegan(_) => {
                    let reported = self.table.values_mut().filter(|todo| todo.status == TodoStatus::InProgress);
                    reported.for_each(|todo| todo.status = TodoStatus::Pending);
                }
                Event::TodoClaimed { todo, fence, .. } => {
                    assert!(*fence > self.fence, "a fence was given twice");
                    self.fence = *fence;
                    self.claim_count += 1;
                    let previous_claim = self.current_claims.insert(todo.clone(), (entry.task, *fence));
                    assert_eq!(previous_claim, None, "{todo} has two workers");
                    self.set_status(todo, TodoStatus::InProgress);
                }
                Event::TodoReturned { todo, fence, .. } => {
                    assert_eq!(
                        self.current_claims.remove(todo),
                        Some((entry.task, *fence)),
                        "a stale claim returned {todo}"
                    );
                    self.set_status(todo, TodoStatus::Pending);
                }
                Event::TodoDone { todo, fence, .. } => {
                    let claim = fence.map(|fence| (entry.task, fence));
                    assert_eq!(self.current_claims.remove(todo), claim, "a stale claim completed {todo}");
                    self.set_status(todo, TodoStatus::Done);
                }
                Event::TodoBlocked { todo, .. } => {
                    let holder = self.current_claims.remove(todo);
                    assert!(
                        holder.is_none_or(|(task, _)| task == entry.task),
                        "{todo} was blocked while another worker had claimed it"
                    );
                    self.set_status(todo, TodoStatus::Blocked);
                }
                Event::TodoUnblocked { todo } => self.set_status(todo, TodoStatus::Pending),
                _ => {}
            }
        }
        self.entries_read = self.session.log.len();
    }

    fn set_status(&mut self, todo: &TodoId, status: TodoStatus) {
        self.table.get_mut(todo).expect("the todo exists").status = status;
    }

    fn check(&mut self) {
        self.sync();
        let kernel = &self.session.kernel;
        let graph = kernel.graph();
        let statuses = |todo: &Todo| (todo.id.clone(), todo.status);
        let known: BTreeMap<_, _> = graph.nodes().map(|(id, node)| (id.clone(), node.progress.status())).collect();
        assert_eq!(known, self.table.values().map(statuses).collect(), "kernel and table disagree");
        let held = graph.nodes().filter_map(|(id, node)| match node.progress {
            TodoProgress::Claimed { task, fence } => Some((id.clone(), (task, fence))),
            _ => None,
        });
        assert_eq!(held.collect::<BTreeMap<_, _>>(), self.current_claims);
        assert_eq!(graph.claimed() as usize, self.current_claims.len());
        for task in kernel.tasks().filter(|task| !task.is_finished()) {
            let Some(todo) = &task.todo else { continue };
            assert_eq!(
                self.current_claims.get(todo).map(|(holder, _)| *holder),
                Some(task.id),
                "{} works on a todo that it has not claimed",
                task.id
            );
        }
        for (todo, (task, _)) in &self.current_claims {
            assert!(!kernel.task(*task).unwrap().is_finished(), "{todo} is claimed by {task}, which has finished");
        }
        self.check_ready();
    }

    /// Checks that ready and blocked todos agree with a scan of all todos.
    fn check_ready(&self) {
        let graph = self.session.kernel.graph();
        let progress_of = |id: &TodoId| graph.node(id).map(|node| &node.progress);
        let is_done = |id: &TodoId| progress_of(id) == Some(&TodoProgress::Done);
        let ready = graph
            .nodes()
            .filter(|(_, node)| node.progress == TodoProgress::Pending && node.depends_on.iter().all(is_done));
        let ready_ids: BTreeSet<TodoId> = graph.ready().map(|(id, _)| id.clone()).collect();
        assert_eq!(ready_ids, ready.map(|(id, _)| id.clone()).collect());
        if graph.fleet().is_none() {
            return;
        }
        for (id, node) in graph.nodes() {
            let blocked = node
                .depends_on
                .iter()
                .any(|dependency| matches!(progress_of(dependency), Some(TodoProgress::Blocked(_))));
            match &node.progress {
                TodoProgress::Pending => assert!(!blocked, "{id} is pending but depends on a blocked todo"),
                TodoProgress::Blocked(BlockReason::Upstream { .. }) => assert!(blocked, "nothing blocks {id}"),
                TodoProgress::Blocked(BlockReason::Cycle { path }) => assert_eq!(path.first(), Some(id)),
                _ => {}
            }
        }
    }

    /// Ends the history: every todo that can be done is done, and no claim is left.
    fn finish(&mut self) {
        if self.session.kernel.state.admission == SessionAdmission::Closed {
            self.session.replace_dead_owner();
        }
        for _ in 0..400 {
            self.session.drain();
            self.check();
            let due = self.session.kernel.due_todos("think");
            let Some(todo) = due.first() else { break };
            if self.claim(todo).is_some() {
                break;
            }
        }
        self.session.drain();
        self.check();
        let graph = self.session.kernel.graph();
        assert_eq!(graph.claimed(), 0, "a todo is claimed although no worker runs");
        let may_start_more =
            graph.fleet().is_some() && self.session.kernel.started_agents() < self.session.limits.total;
        assert!(!may_start_more || graph.ready().next().is_none(), "a todo is ready at the end");
    }
}

/// Removes a deleted todo from the dependencies of a row, and returns the row if that changed it.
fn remove_dependency(todo: &mut Todo, gone: &TodoId) -> Option<Todo> {
    let before = todo.depends_on.len();
    todo.depends_on.retain(|dependency| dependency != gone);
    (todo.depends_on.len() < before).then(|| todo.clone())
}

fn run_history(seed: u64) {
    let mut fleet = FleetHistory::new(seed);
    (0..STEPS).for_each(|_| fleet.step());
    fleet.finish();
}

#[test]
fn a_todo_has_one_worker_at_a_time_and_no_ready_todo_waits_while_a_slot_is_free() {
    in_parallel(0..CASES, run_history);
}

#[test]
fn fleet_histories_reach_every_event_and_refusal() {
    let (mut events, mut refusals) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..600 {
        let mut fleet = FleetHistory::new(seed);
        (0..STEPS).for_each(|_| fleet.step());
        let kind = |entry: &LogEntry| serde_json::to_value(&entry.event).unwrap()["type"].as_str().unwrap().to_owned();
        events.extend(fleet.session.log.iter().map(kind));
        refusals.extend(fleet.refusals);
    }
    for event in
        ["todosChanged", "fleetBegan", "todoClaimed", "todoReturned", "todoDone", "todoBlocked", "todoUnblocked"]
    {
        assert!(events.contains(event), "{event}: {events:?}");
    }
    assert_eq!(refusals, ["enough", "held", "not ready"].into());
}
