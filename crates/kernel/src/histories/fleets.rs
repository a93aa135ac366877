//! Fleets in random histories: plans are edited, workers report, fail, lie, stop and lose their leases, owners die, and
//! after each step what the kernel knows of the todos is what their log and their table say.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use protocol::*;

use super::in_parallel;
use super::simulated_session::SimulatedSession;
use crate::state::SessionAdmission;
use crate::*;

const STEPS: usize = 60;
const CASES: u64 = 10_000;

/// The types of agents that todos name; the first two are capped.
const KINDS: [Option<&str>; 4] = [Some("build"), Some("look"), Some("think"), None];

struct FleetHistory {
    world: SimulatedSession,
    /// The table as the projection of the log would have it, with changes that are not read yet.
    table: BTreeMap<TodoId, Todo>,
    /// The claims, according to the log.
    holders: BTreeMap<TodoId, (TaskId, u64)>,
    fence: u64,
    read: usize,
    claims: u32,
    refusals: BTreeSet<&'static str>,
}

impl FleetHistory {
    fn new(seed: u64) -> FleetHistory {
        let limits = SessionLimits {
            live: 1 + (seed % 5) as u32,
            depth: 3,
            total: 200,
            rate: 200,
            of_type: [("build".to_owned(), 1), ("look".to_owned(), 2)].into(),
            grace: Duration::from_millis(50),
            max_stop_blocks: 1,
            max_repairs: 1,
            max_continues: 2,
            autopilot_turns: 50,
            result_window: Duration::from_millis(20),
        };
        let mut fleet = FleetHistory {
            world: SimulatedSession::with_limits(seed, limits),
            table: BTreeMap::new(),
            holders: BTreeMap::new(),
            fence: 0,
            read: 0,
            claims: 0,
            refusals: BTreeSet::new(),
        };
        for _ in 0..fleet.world.rng.below(12) {
            fleet.somebody_plans(Principal::User);
        }
        fleet
    }

    fn step(&mut self) {
        match self.world.rng.below(20) {
            0..11 => self.world.step(),
            11..14 => self.dispatch(),
            14..16 => self.claim_anything(),
            16 => self.somebody_plans(Principal::User),
            17 => {
                let by = self.world.kernel.root().map_or(Principal::User, |id| Principal::Task { id });
                self.somebody_plans(by);
            }
            18 => self.a_worker_lies(),
            _ => self.begin_or_end(),
        }
        self.check();
    }

    fn give(&mut self, input: KernelInput) -> Option<InputRefusal> {
        let refusal = self.world.try_apply(input);
        self.sync();
        refusal
    }

    fn begin_or_end(&mut self) {
        if self.world.kernel.graph().fleet().is_some() && !self.world.rng.one_in(4) {
            return;
        }
        let terms = FleetConfig {
            agent: None,
            goal: "all of it".into(),
            parallel: Some(1 + self.world.rng.below(4) as u32).filter(|_| self.world.rng.one_in(2)),
            retries: self.world.rng.below(3) as u32,
            rounds: 1,
            isolated: false,
            dirty: false,
            merge: false,
            check: None,
            plan: None,
        };
        let circle = self.world.kernel.graph().cycle();
        match self.world.kernel.graph().fleet() {
            Some(_) => assert_eq!(self.give(KernelInput::EndFleet(FleetEnd::Stopped)), None),
            None => assert_eq!(self.give(KernelInput::BeginFleet(terms)), circle.map(InputRefusal::TodoCycle)),
        }
    }

    /// A worker is started for everything that is due, and then nothing that is ready has a free place.
    fn dispatch(&mut self) {
        let due = self.world.kernel.due_todos("think");
        for todo in due {
            match self.claim(&todo) {
                None => {}
                // The caller learns that the session has reached its limit of agents, and can block the todo.
                Some(InputRefusal::Total { .. }) => return,
                Some(refusal) => panic!("{todo} was due, and {refusal}"),
            }
        }
        let kernel = &self.world.kernel;
        assert_eq!(kernel.due_todos("think"), []);
        let Some(terms) = kernel.graph().fleet() else { return };
        let slots = &kernel.state.slots;
        let full = (slots.held as usize + slots.starting.len() + slots.returning.len())
            >= self.world.limits.live as usize
            || terms.parallel.is_some_and(|cap| kernel.graph().claimed() >= cap)
            || kernel.state.admission == SessionAdmission::Closed
            || kernel.root().and_then(|root| kernel.task(root)).is_some_and(|root| root.cancel.is_some());
        for (todo, node) in kernel.graph().ready().filter(|_| !full) {
            let kind = node.agent.as_deref().unwrap_or("think");
            let cap = self.world.limits.of_type.get(kind).copied().unwrap_or(u32::MAX);
            assert!(slots.wanted_by(kind) >= cap, "{todo} is ready, a slot is free, and nobody works on it");
        }
    }

    fn claim(&mut self, todo: &TodoId) -> Option<InputRefusal> {
        let id = self.world.new_id();
        let agent = self.world.kernel.graph().node(todo).and_then(|node| node.agent.clone());
        let agent = agent.as_deref().unwrap_or("think").to_owned();
        let spec = TaskSpec { todo: Some(todo.clone()), ..TaskSpec::new(TaskType::Agent, agent, todo.0.as_str()) };
        self.give(KernelInput::Spawn(TaskSpawn {
            id,
            spec,
            prompt: "do it".into(),
            by: None,
            until: None,
            definition: None,
        }))
    }

    /// Only a ready and unclaimed todo can be claimed.
    fn claim_anything(&mut self) {
        let todos: Vec<TodoId> = self.table.keys().cloned().collect();
        let Some(todo) = self.world.rng.pick(&todos) else { return };
        let graph = self.world.kernel.graph();
        let (fleet, ready, held) = (graph.fleet().is_some(), graph.is_ready(&todo), self.holders.contains_key(&todo));
        match self.claim(&todo) {
            None => assert!(fleet && ready && !held, "{todo} was claimed"),
            Some(InputRefusal::TodoClaimed { .. }) => assert!(held && self.refuses("held")),
            Some(InputRefusal::TodoNotReady(_)) => assert!(!ready && !held && self.refuses("not ready")),
            Some(InputRefusal::ClaimLimit { .. }) => assert!(ready && self.refuses("enough")),
            Some(InputRefusal::NoFleet) => assert!(!fleet),
            Some(_) => {}
        }
    }

    fn refuses(&mut self, why: &'static str) -> bool {
        self.refusals.insert(why);
        true
    }

    /// An allowed author adds, changes or removes a todo.
    fn somebody_plans(&mut self, by: Principal) {
        let dice = &mut self.world.rng;
        let id = TodoId(format!("t{}", dice.below(14)));
        if self.table.contains_key(&id) && dice.one_in(6) {
            self.table.remove(&id);
            // Rows that name it lose that with it.
            let changed: Vec<Todo> = self.table.values_mut().filter_map(|todo| without(todo, &id)).collect();
            self.give(KernelInput::TodosChanged { by, changed, gone: vec![id], upto: 0 });
            return;
        }
        let known: Vec<TodoId> = self.table.keys().filter(|known| **known != id).cloned().collect();
        let depends_on: BTreeSet<TodoId> = (0..dice.below(3)).filter_map(|_| dice.pick(&known)).collect();
        let status = match dice.below(6) {
            0 => dice.pick(&TodoStatus::ALL).unwrap_or_default(),
            _ => TodoStatus::Pending,
        };
        let agent_type = dice.pick(&KINDS).flatten().map(str::to_owned);
        let todo = Todo {
            depends_on: depends_on.into_iter().collect(),
            status,
            agent_type,
            ..Todo::new(id.0.clone(), "work")
        };
        self.table.insert(id, todo.clone());
        self.give(KernelInput::TodosChanged { by, changed: vec![todo], gone: Vec::new(), upto: 0 });
    }

    /// A worker writes any status to a todo. While a fleet works, that changes nothing.
    fn a_worker_lies(&mut self) {
        let workers: Vec<TaskId> =
            self.world.kernel.tasks().filter(|task| task.depth > 0).map(|task| task.id).collect();
        let todos: Vec<Todo> = self.table.values().cloned().collect();
        let (Some(id), Some(todo)) = (self.world.rng.pick(&workers), self.world.rng.pick(&todos)) else { return };
        let before = self.world.kernel.graph().node(&todo.id).map(|node| node.progress.clone());
        let status = self.world.rng.pick(&TodoStatus::ALL).unwrap_or_default();
        let said = Todo { status, ..todo.clone() };
        self.table.insert(todo.id.clone(), said.clone());
        self.give(KernelInput::TodosChanged {
            by: Principal::Task { id },
            changed: vec![said],
            gone: Vec::new(),
            upto: 0,
        });
        if self.world.kernel.graph().fleet().is_some() {
            let after = self.world.kernel.graph().node(&todo.id).map(|node| node.progress.clone());
            assert_eq!(after, before, "the word of {id} about {} counted", todo.id);
        }
    }

    /// Reads what the log tells of the todos.
    fn sync(&mut self) {
        let news: Vec<LogEntry> = self.world.log[self.read..].to_vec();
        for entry in news {
            match &entry.event {
                Event::TodosChanged { changed, gone, .. } => {
                    for todo in changed {
                        self.table.insert(todo.id.clone(), todo.clone());
                    }
                    self.holders.retain(|todo, _| !gone.contains(todo));
                }
                Event::FleetBegan(_) => {
                    let said = self.table.values_mut().filter(|todo| todo.status == TodoStatus::InProgress);
                    said.for_each(|todo| todo.status = TodoStatus::Pending);
                }
                Event::TodoClaimed { todo, fence } => {
                    assert!(*fence > self.fence, "a fence was given twice");
                    self.fence = *fence;
                    self.claims += 1;
                    let two = self.holders.insert(todo.clone(), (entry.task, *fence));
                    assert_eq!(two, None, "{todo} has two owners");
                    self.stand(todo, TodoStatus::InProgress);
                }
                Event::TodoReturned { todo, fence, .. } => {
                    assert_eq!(self.holders.remove(todo), Some((entry.task, *fence)), "a stale claim gave {todo} back");
                    self.stand(todo, TodoStatus::Pending);
                }
                Event::TodoDone { todo, fence, .. } => {
                    let claim = fence.map(|fence| (entry.task, fence));
                    assert_eq!(self.holders.remove(todo), claim, "a stale claim did {todo}");
                    self.stand(todo, TodoStatus::Done);
                }
                Event::TodoBlocked { todo, .. } => {
                    let holder = self.holders.remove(todo);
                    assert!(holder.is_none_or(|(task, _)| task == entry.task), "{todo} was blocked under its owner");
                    self.stand(todo, TodoStatus::Blocked);
                }
                Event::TodoUnblocked { todo } => self.stand(todo, TodoStatus::Pending),
                _ => {}
            }
        }
        self.read = self.world.log.len();
    }

    fn stand(&mut self, todo: &TodoId, status: TodoStatus) {
        self.table.get_mut(todo).expect("the todo exists").status = status;
    }

    fn check(&mut self) {
        self.sync();
        let kernel = &self.world.kernel;
        let graph = kernel.graph();
        let statuses = |todo: &Todo| (todo.id.clone(), todo.status);
        let known: BTreeMap<_, _> = graph.nodes().map(|(id, node)| (id.clone(), node.progress.status())).collect();
        assert_eq!(known, self.table.values().map(statuses).collect(), "kernel and table disagree");
        let held = graph.nodes().filter_map(|(id, node)| match node.progress {
            TodoProgress::Claimed { task, fence } => Some((id.clone(), (task, fence))),
            _ => None,
        });
        assert_eq!(held.collect::<BTreeMap<_, _>>(), self.holders);
        assert_eq!(graph.claimed() as usize, self.holders.len());
        for task in kernel.tasks().filter(|task| !task.is_finished()) {
            let Some(todo) = &task.todo else { continue };
            assert_eq!(
                self.holders.get(todo).map(|(holder, _)| *holder),
                Some(task.id),
                "{} works for nothing",
                task.id
            );
        }
        for (todo, (task, _)) in &self.holders {
            assert!(!kernel.task(*task).unwrap().is_finished(), "{todo} is held by {task}, which has ended");
        }
        self.check_ready();
    }

    /// Ready and blocked todos agree with a scan of all todos.
    fn check_ready(&self) {
        let graph = self.world.kernel.graph();
        let standing = |id: &TodoId| graph.node(id).map(|node| &node.progress);
        let is_done = |id: &TodoId| standing(id) == Some(&TodoProgress::Done);
        let ready = graph
            .nodes()
            .filter(|(_, node)| node.progress == TodoProgress::Pending && node.depends_on.iter().all(is_done));
        let found: BTreeSet<TodoId> = graph.ready().map(|(id, _)| id.clone()).collect();
        assert_eq!(found, ready.map(|(id, _)| id.clone()).collect());
        if graph.fleet().is_none() {
            return;
        }
        for (id, node) in graph.nodes() {
            let blocked = node.depends_on.iter().any(|above| matches!(standing(above), Some(TodoProgress::Blocked(_))));
            match &node.progress {
                TodoProgress::Pending => assert!(!blocked, "{id} is pending and depends on what is blocked"),
                TodoProgress::Blocked(BlockReason::Upstream { .. }) => assert!(blocked, "nothing blocks {id}"),
                TodoProgress::Blocked(BlockReason::Cycle { path }) => assert_eq!(path.first(), Some(id)),
                _ => {}
            }
        }
    }

    /// Everything that can be done is, and nothing stays held.
    fn finish(&mut self) {
        if self.world.kernel.state.admission == SessionAdmission::Closed {
            self.world.replace_dead_owner();
        }
        for _ in 0..400 {
            self.world.drain();
            self.check();
            let due = self.world.kernel.due_todos("think");
            let Some(todo) = due.first() else { break };
            if self.claim(todo).is_some() {
                break;
            }
        }
        self.world.drain();
        self.check();
        let graph = self.world.kernel.graph();
        assert_eq!(graph.claimed(), 0, "something is in progress and nobody works");
        let stuck = graph.fleet().is_some() && self.world.kernel.started_agents() < self.world.limits.total;
        assert!(!stuck || graph.ready().next().is_none(), "something is ready at the end");
    }
}

/// The row without what it says of a todo that is gone, if it said anything.
fn without(todo: &mut Todo, gone: &TodoId) -> Option<Todo> {
    let before = todo.depends_on.len();
    todo.depends_on.retain(|above| above != gone);
    (todo.depends_on.len() < before).then(|| todo.clone())
}

fn history(seed: u64) {
    let mut fleet = FleetHistory::new(seed);
    (0..STEPS).for_each(|_| fleet.step());
    fleet.finish();
}

#[test]
fn every_todo_has_one_owner_at_a_time_and_nothing_ready_waits_while_a_slot_is_free() {
    in_parallel(0..CASES, history);
}

#[test]
fn histories_of_fleets_come_to_every_event_and_refusal() {
    let (mut events, mut refusals) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..600 {
        let mut fleet = FleetHistory::new(seed);
        (0..STEPS).for_each(|_| fleet.step());
        let kind = |entry: &LogEntry| serde_json::to_value(&entry.event).unwrap()["type"].as_str().unwrap().to_owned();
        events.extend(fleet.world.log.iter().map(kind));
        refusals.extend(fleet.refusals);
    }
    for event in
        ["todosChanged", "fleetBegan", "todoClaimed", "todoReturned", "todoDone", "todoBlocked", "todoUnblocked"]
    {
        assert!(events.contains(event), "{event}: {events:?}");
    }
    assert_eq!(refusals, ["enough", "held", "not ready"].into());
}
