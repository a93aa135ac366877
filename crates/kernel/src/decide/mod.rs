//! The kernel's decisions on inputs, one module per concern. Each decision checks everything before it records
//! anything, so that a refusal changes nothing.

mod ask;
mod cancel;
mod external_task;
mod fleet;
mod mail;
mod mode;
mod owner;
mod report;
mod schedule;
mod spawn;
mod wait;
mod watch;

use protocol::{Event, LogEntry, RunId, TaskId, Timestamp};

use crate::state::KernelState;
use crate::{InputRefusal, KernelEffect, KernelInput, KernelTask, SessionLimits};

/// Decides on one input.
pub(crate) fn decide(
    state: &mut KernelState,
    limits: &SessionLimits,
    now: Timestamp,
    input: KernelInput,
) -> Result<Vec<KernelEffect>, InputRefusal> {
    let mut draft = DecisionDraft { state, limits, now, wake_policy: WakePolicy::Now, effects: Vec::new() };
    match input {
        KernelInput::Open { root, spec, definition, config } => draft.open(root, spec, definition, config),
        KernelInput::Adopt { fence, config } => draft.adopt(fence, config),
        KernelInput::Fork { from } => draft.fork(from),
        KernelInput::Define(definitions) => draft.define(definitions),
        KernelInput::Compact { task, compaction } => draft.compact(task, compaction),
        KernelInput::CutConversation { task, after } => draft.cut_conversation(task, after),
        KernelInput::Resume => draft.resume(),
        KernelInput::Suspend => draft.suspend(),
        KernelInput::Spawn(spawn) => draft.spawn(spawn),
        KernelInput::Send(mail) => draft.send_mail(mail),
        KernelInput::Report(run, report) => draft.report(run, report),
        KernelInput::Decide { ask, decision, by } => draft.decide_ask(ask, decision, by),
        KernelInput::Promote(task) => draft.promote(task),
        KernelInput::Interrupt(task) => draft.interrupt(task),
        KernelInput::Cancel { task, by, how } => draft.cancel(task, by, how),
        KernelInput::Stop { by } => draft.stop_session(by),
        KernelInput::Lease { run, until } => draft.set_lease(run, until),
        KernelInput::Streamed { run, output } => draft.note_streamed(run, output),
        KernelInput::Stall { run, since } => draft.stall(run, since),
        KernelInput::Unstall(run) => draft.unstall(run),
        KernelInput::StopHooksRan { task, activation } => draft.record_stop_hooks(task, activation),
        KernelInput::Forget(task) => draft.forget(task),
        KernelInput::Memory(memory) => {
            draft.state.memory = memory;
            Ok(())
        }
        KernelInput::TodosChanged { by, changed, gone, upto } => draft.record_todo_changes(by, changed, gone, upto),
        KernelInput::BeginFleet(config) => draft.begin_fleet(config),
        KernelInput::SetTodoState { todo, to } => draft.set_todo_state(todo, to),
        KernelInput::MergeTodo { todo, commit } => draft.merge_todo(todo, commit),
        KernelInput::MergeFleet(summary) => draft.merge_fleet(summary),
        KernelInput::EndFleet { end, why } => draft.end_fleet(end, why),
        KernelInput::SetMode { mode, by } => draft.set_mode(mode, by),
        KernelInput::SelectAgent { definition, model } => draft.select_agent(definition, model),
        KernelInput::SetTitle { title } => draft.set_title(title),
        KernelInput::ClaimExternalTask(claim) => draft.claim_external_task(claim),
        KernelInput::UpdateExternalTask(update) => draft.update_external_task(update),
        KernelInput::OrphanExternalTasks { owner } => draft.orphan_external_tasks(&owner),
        KernelInput::SetModel { model, effort, by } => draft.set_model(model, effort, by),
        KernelInput::ToggleMcpServer { server, enabled, by } => draft.toggle_mcp_server(server, enabled, by),
        KernelInput::ContinueAutopilot { state, text } => draft.continue_autopilot(state, text),
        KernelInput::Tick => draft.tick(),
    }?;
    draft.fill_slots()?;
    Ok(draft.effects)
}

/// A decision in progress: the state after the events so far, and the effects.
struct DecisionDraft<'a> {
    state: &'a mut KernelState,
    limits: &'a SessionLimits,
    now: Timestamp,
    wake_policy: WakePolicy,
    effects: Vec<KernelEffect>,
}

/// When tasks that this decision wakes may start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WakePolicy {
    Now,
    /// The session changes owners: woken tasks start at the next [`KernelInput::Resume`].
    Later,
}

impl DecisionDraft<'_> {
    /// Records an event and applies it to the state.
    fn record(&mut self, task: TaskId, event: Event) -> Result<(), InputRefusal> {
        let entry = LogEntry { task, at: self.now, event };
        self.state.apply_event(&entry)?;
        self.effects.push(KernelEffect::Record(entry));
        Ok(())
    }

    fn task(&self, id: TaskId) -> Result<&KernelTask, InputRefusal> {
        self.state.tasks.get(&id).ok_or(InputRefusal::UnknownTask(id))
    }

    /// The task of `run`, if `run` is its current run.
    fn task_of_run(&self, run: RunId) -> Result<&KernelTask, InputRefusal> {
        let task = self.task(run.task)?;
        if task.is_running() && task.run_id() == run { Ok(task) } else { Err(InputRefusal::StaleRun) }
    }

    fn all_task_ids(&self) -> Vec<TaskId> {
        self.state.tasks.keys().copied().collect()
    }
}
