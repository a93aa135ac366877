//! Decisions, one module per concern. Each checks everything first and records only then, so that a refusal
//! has changed nothing.

mod ask;
mod cancel;
mod errand;
mod fleet;
mod mail;
mod mode;
mod owner;
mod report;
mod schedule;
mod spawn;
mod wait;
mod watch;

use protocol::{At, Entry, Event, Run, TaskId};

use crate::state::State;
use crate::{Effect, Input, Limits, Refusal, Task};

/// Decides on one input.
pub(crate) fn decide(state: &mut State, limits: &Limits, now: At, input: Input) -> Result<Vec<Effect>, Refusal> {
    let mut draft = Draft { state, limits, now, wakes: Wakes::Now, effects: Vec::new() };
    match input {
        Input::Open { root, spec, definition, terms } => draft.open(root, spec, definition, terms),
        Input::Adopt { fence, terms } => draft.adopt(fence, terms),
        Input::Fork { from } => draft.fork(from),
        Input::Define(definitions) => draft.define(definitions),
        Input::Compact { task, compaction } => draft.compact(task, compaction),
        Input::Resume => draft.resume(),
        Input::Suspend => draft.suspend(),
        Input::Spawn(spawn) => draft.spawn(spawn),
        Input::Send(letter) => draft.send(letter),
        Input::Report(run, report) => draft.report(run, report),
        Input::Decide { ask, decision, by } => draft.decide(ask, decision, by),
        Input::Promote(task) => draft.promote(task),
        Input::Interrupt(task) => draft.interrupt(task),
        Input::Cancel { task, by, how } => draft.cancel(task, by, how),
        Input::Stop { by } => draft.stop(by),
        Input::Lease { run, until } => draft.lease(run, until),
        Input::Streamed { run, output } => draft.streamed(run, output),
        Input::Stall { run, since } => draft.stall(run, since),
        Input::Stir(run) => draft.stir(run),
        Input::Part { task, activation } => draft.part(task, activation),
        Input::Forget(task) => draft.forget(task),
        Input::Memory(memory) => {
            draft.state.memory = memory;
            Ok(())
        }
        Input::Todos { by, changed, gone, upto } => draft.todos(by, changed, gone, upto),
        Input::BeginFleet(terms) => draft.begin_fleet(terms),
        Input::MoveTodo { todo, to } => draft.move_todo(todo, to),
        Input::MergeTodo { todo, commit } => draft.merge_todo(todo, commit),
        Input::EndFleet(end) => draft.end_fleet(end),
        Input::SetMode { mode, by } => draft.set_mode(mode, by),
        Input::SelectAgent { definition, model } => draft.select_agent(definition, model),
        Input::Errand(params) => draft.register_errand(params),
        Input::TellErrand(update) => draft.tell_errand(update),
        Input::Orphan { owner } => draft.orphan(&owner),
        Input::ForgetErrand(id) => draft.forget_errand(id),
        Input::SetModel { model, by } => draft.set_model(model, by),
        Input::GoOn { state, text } => draft.go_on(state, text),
        Input::Tick => draft.tick(),
    }?;
    draft.fill_slots()?;
    Ok(draft.effects)
}

/// A decision in the making: the state with what is decided so far, and the effects that say so.
struct Draft<'a> {
    state: &'a mut State,
    limits: &'a Limits,
    now: At,
    wakes: Wakes,
    effects: Vec<Effect>,
}

/// Whether this decision may start anything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wakes {
    Now,
    /// The owner comes or goes: what is woken starts with `Resume`.
    Later,
}

impl Draft<'_> {
    /// Records an event and adopts it at once.
    fn record(&mut self, task: TaskId, event: Event) -> Result<(), Refusal> {
        let entry = Entry { task, at: self.now, event };
        self.state.evolve(&entry)?;
        self.effects.push(Effect::Record(entry));
        Ok(())
    }

    fn task(&self, id: TaskId) -> Result<&Task, Refusal> {
        self.state.tasks.get(&id).ok_or(Refusal::UnknownTask(id))
    }

    /// The task that `run` may report for.
    fn current(&self, run: Run) -> Result<&Task, Refusal> {
        let task = self.task(run.task)?;
        if task.is_running() && task.run() == run { Ok(task) } else { Err(Refusal::Stale) }
    }

    fn all(&self) -> Vec<TaskId> {
        self.state.tasks.keys().copied().collect()
    }
}
