//! Answers the requests of a run in the process that owns its session.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use hooks::{HookEventData, HookVerdict};
use kernel::{DecidedAsk, InputRefusal, Kernel, KernelInput, RunUpdate};
use protocol::{Activation, CallId, Envelope, Hinted as _, HookEvent, Refusal, RunId, TaskId, ToolCallRequest, Turn};
use tokio::sync::watch;
use tools::{BoxFuture, Heartbeat, ToolError, ToolOutput};

use super::held::HeldByRun;
use super::{
    AdmissionReply, AdmissionRequest, AskRequest, CallProgress, DigestLines, HoldId, HoldUpdate, RunInput,
    SessionRequests, TaskProfile, TaskProgress, WorkSeal, WorkSealError, digest, session_calls, start_hooks,
};
use crate::bus::BusMessage;
use crate::call_waits::{AskWaiter, CallWaits, Caller};
use crate::conversation::ResultFormatter;
use crate::expectations;
use crate::governor::{DayBudgetError, RequestAdmission};
use crate::hooks::run_hooks;
use crate::prepared_agent::PreparedAgent;
use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, RunLink, Supervisor};
use crate::watchdog::{LatestText, StreamedTokens};

/// The session of a run, in this process.
#[derive(Debug)]
pub(crate) struct LocalSession {
    context: Arc<SessionContext>,
    supervisor: Supervisor,
    run: RunId,
    call_waits: CallWaits,
    /// The calls whose tools may use the session, until they are answered.
    callers: Mutex<HashMap<CallId, Caller>>,
    /// Asks that wait for their decision.
    asks: Mutex<HashMap<CallId, AskWaiter>>,
    /// The agent of the latest call that ran here.
    agent: Mutex<Option<Arc<PreparedAgent>>>,
    /// What the run holds at the governor.
    held: HeldByRun,
    heartbeat: Heartbeat,
    latest_text: LatestText,
    streamed: StreamedTokens,
}

impl LocalSession {
    /// The session of the run that the link belongs to.
    pub(crate) fn of_link(context: Arc<SessionContext>, link: &RunLink) -> LocalSession {
        let call_waits = link.call_waits.clone();
        LocalSession {
            call_waits,
            heartbeat: link.heartbeat.clone(),
            latest_text: link.latest_text.clone(),
            streamed: link.streamed.clone(),
            ..LocalSession::new(context, link.supervisor.clone(), link.run)
        }
    }

    /// The session of a run that has no link.
    pub(crate) fn new(context: Arc<SessionContext>, supervisor: Supervisor, run: RunId) -> LocalSession {
        LocalSession {
            context,
            supervisor,
            run,
            call_waits: CallWaits::default(),
            callers: Mutex::default(),
            asks: Mutex::default(),
            agent: Mutex::default(),
            held: HeldByRun::default(),
            heartbeat: Heartbeat::default(),
            latest_text: LatestText::default(),
            streamed: StreamedTokens::default(),
        }
    }

    /// The agent of the run. An agent in a checkout is prepared once for all its calls.
    fn agent(&self) -> Result<Arc<PreparedAgent>, Refusal> {
        let profile = TaskProfile::of(&self.context, self.run.task)?;
        let mut latest = self.agent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = latest.as_ref().filter(|agent| agent.model_spec == profile.model) {
            return Ok(Arc::clone(agent));
        }
        let agent = self.context.prepared_agent(self.run.task).map_err(|error| error.refusal())?;
        *latest = Some(Arc::clone(&agent));
        Ok(agent)
    }

    fn caller(&self, turn: Turn, call: &CallId) -> Caller {
        let new_caller = || Caller {
            supervisor: self.supervisor.clone(),
            run: self.run,
            turn,
            call: call.clone(),
            waits: self.call_waits.clone(),
            reported_results: Arc::default(),
        };
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.entry(call.clone()).or_insert_with(new_caller).clone()
    }

    /// Marks the results of other tasks that the answer to a call contains as read.
    fn results_read(&self, input: &RunInput) -> Vec<RunUpdate> {
        let RunInput::Update(RunUpdate::CallAnswered { call, .. }) = input else { return Vec::new() };
        let caller = self.callers.lock().unwrap_or_else(PoisonError::into_inner).remove(call);
        let reported = caller.map(|caller| caller.take_reported()).unwrap_or_default();
        reported.into_iter().map(|(task, activation)| RunUpdate::ResultRead { task, activation }).collect()
    }

    async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Kernel, TaskId) -> T + Send + 'static,
    ) -> Result<T, InputRejection> {
        let task = self.run.task;
        self.supervisor.query(move |kernel| query(kernel, task)).await
    }
}

impl ResultFormatter for LocalSession {
    fn format_result(&self, task: TaskId, activation: Activation) -> String {
        self.context.log.format_result(task, activation)
    }

    fn format_message(&self, from: TaskId, text: &str) -> String {
        self.context.log.format_message(from, text)
    }
}

impl SessionRequests for LocalSession {
    fn submit(&self, inputs: Vec<RunInput>) -> BoxFuture<'_, Vec<Result<(), InputRejection>>> {
        Box::pin(async move {
            let (count, mut all) = (inputs.len(), Vec::with_capacity(inputs.len()));
            let mut read = Vec::new();
            for input in inputs {
                read.extend(self.results_read(&input));
                all.push(input.into_kernel(self.run));
            }
            all.extend(read.into_iter().map(|update| KernelInput::Report(self.run, update)));
            let mut results: Vec<_> =
                self.supervisor.submit_each(all).await.into_iter().map(|result| result.map(|_receipt| ())).collect();
            // A result that cannot be marked as read fails the answer that contains it.
            let marked: Result<(), InputRejection> = results.drain(count..).collect();
            if let (Err(rejected), Some(last @ Ok(()))) = (marked, results.last_mut()) {
                *last = Err(rejected);
            }
            results
        })
    }

    fn profile(&self) -> BoxFuture<'_, Result<TaskProfile, Refusal>> {
        Box::pin(async { TaskProfile::of(&self.context, self.run.task) })
    }

    fn progress(&self) -> BoxFuture<'_, Result<TaskProgress, InputRejection>> {
        Box::pin(self.query(|kernel, task| {
            let is_busy = |child: &TaskId| kernel.task(*child).is_some_and(|task| task.phase.is_busy());
            let of_task = |task: &kernel::KernelTask| TaskProgress {
                turns: task.turns,
                stop_blocks: task.stop_blocks,
                has_busy_children: task.children.iter().any(is_busy),
            };
            kernel.task(task).map(of_task).unwrap_or_default()
        }))
    }

    fn events_after(&self, seq: u64) -> BoxFuture<'_, Result<Vec<Envelope>, Refusal>> {
        Box::pin(async move { self.context.log.task_events_after(self.run.task, seq).map_err(Refusal::new) })
    }

    fn call_progress(&self, call: CallId) -> BoxFuture<'_, Result<CallProgress, InputRejection>> {
        Box::pin(
            self.query(move |kernel, task| CallProgress::of(kernel.task(task).and_then(|task| task.work.call(&call)))),
        )
    }

    fn open_ask(&self, request: AskRequest) -> BoxFuture<'_, Result<(), InputRejection>> {
        Box::pin(async move {
            let AskRequest { turn, ask } = request;
            let call = ask.call.clone();
            let waiter = self.caller(turn, &call).ask(ask, self.context.facts.ask_wait).await?;
            self.asks.lock().unwrap_or_else(PoisonError::into_inner).insert(call, waiter);
            Ok(())
        })
    }

    fn ask_decision(&self, call: CallId) -> BoxFuture<'_, Result<DecidedAsk, InputRejection>> {
        Box::pin(async move {
            let waiter = self.asks.lock().unwrap_or_else(PoisonError::into_inner).remove(&call);
            match waiter {
                Some(waiter) => waiter.decision().await,
                None => Err(InputRejection::Refused(InputRefusal::WrongCallPhase(call))),
            }
        })
    }

    fn has_provider_answered(&self, model: String) -> BoxFuture<'_, Result<bool, InputRejection>> {
        Box::pin(self.query(move |kernel, _task| kernel.has_provider_answered(&model)))
    }

    fn take_compaction_request(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { self.context.take_compaction_request(self.run.task) })
    }

    fn digest_lines(&self, unread: BTreeSet<TaskId>) -> BoxFuture<'_, Result<DigestLines, InputRejection>> {
        Box::pin(async move {
            let tasks = self.query(move |kernel, own| digest::task_lines(kernel, own, &unread)).await?;
            Ok(DigestLines { tasks, todos: digest::todo_lines(&self.context).await })
        })
    }

    fn has_hook(&self, event: HookEvent) -> BoxFuture<'_, bool> {
        Box::pin(async move { self.context.may_have_hook_for(self.run.task, event) })
    }

    fn run_hooks(&self, event: HookEventData) -> BoxFuture<'_, HookVerdict> {
        Box::pin(async move {
            let may_change_rules = matches!(event, HookEventData::PermissionRequest { .. });
            let verdict = run_hooks(&self.context, self.run, event).await;
            if may_change_rules {
                self.context.workplace.grants.apply_hook_updates(&verdict.rules);
            }
            verdict
        })
    }

    fn run_start_hooks(&self) -> BoxFuture<'_, Option<HookVerdict>> {
        Box::pin(start_hooks::run(&self.context, self.run))
    }

    fn report_denied_start(&self, reason: String) -> BoxFuture<'_, ()> {
        Box::pin(start_hooks::report_denial(&self.context, &self.supervisor, self.run.task, reason))
    }

    fn changed_paths(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async { expectations::changed_paths(&self.context.log, self.run.task) })
    }

    fn admit_check(&self, command: String) -> BoxFuture<'_, Result<String, Refusal>> {
        Box::pin(async move {
            let workspace = self.context.task_workspace(self.run.task).map_err(|error| error.refusal())?;
            let admitted = expectations::admit_command(&self.context, self.run, &workspace, &command).await;
            admitted.map_err(|error| error.refusal())
        })
    }

    fn admit_request(&self, request: AdmissionRequest) -> BoxFuture<'_, AdmissionReply> {
        Box::pin(async move {
            match self.context.governor.admit(request.bucket.as_deref(), request.max_concurrent).await {
                RequestAdmission::Admitted(permit) => AdmissionReply::Admitted(self.held.keep_permit(permit)),
                RequestAdmission::Park(until) => AdmissionReply::Park(until),
            }
        })
    }

    fn reserve_day(&self, micros: u64) -> BoxFuture<'_, Result<HoldId, DayBudgetError>> {
        Box::pin(async move {
            let reservation = match self.context.facts.day_budget {
                Some(limit) => self.context.governor.reserve_day(micros, limit).await?,
                None => self.context.governor.unlimited_day_reservation(),
            };
            Ok(self.held.keep_day(reservation))
        })
    }

    fn raise_day(&self, hold: HoldId, micros: u64) -> BoxFuture<'_, bool> {
        Box::pin(self.held.raise_day(hold, micros))
    }

    fn update_hold(&self, hold: HoldId, update: HoldUpdate) {
        self.held.update(hold, update);
    }

    fn settled(&self) -> watch::Receiver<u64> {
        self.supervisor.settled()
    }

    fn seal_work(&self) -> BoxFuture<'_, Result<Option<WorkSeal>, WorkSealError>> {
        Box::pin(async {
            let Some(checkout) = self.context.workplace.task_workspaces.checkout(self.run.task) else {
                return Ok(None);
            };
            let git::SealedWork { commit, files, is_whole, .. } = checkout.seal().await.map_err(|error| {
                WorkSealError { folder: checkout.workspace.cwd().display().to_string(), reason: error.to_string() }
            })?;
            Ok(Some(WorkSeal { commit: commit.to_string(), files, is_whole }))
        })
    }

    fn set_initial_text(&self, text: &str) {
        self.latest_text.set_initial(text);
    }

    fn reset_answer(&self) {
        self.streamed.set(0);
    }

    fn answer_arrived(&self, turn: Turn, text: Option<&str>, tokens: u32) {
        self.streamed.set(tokens);
        if let Some(text) = text {
            self.latest_text.push(turn, text);
            self.context.log.bus.publish(BusMessage::Text { task: self.run.task, turn, text: text.to_owned() });
        }
    }

    fn run_tool(&self, turn: Turn, call: ToolCallRequest) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let agent = self.agent().map_err(|refusal| ToolError::failed(refusal.in_one_line()))?;
            let caller = self.caller(turn, &call.id);
            session_calls::run(&self.context, agent, caller, self.heartbeat.clone(), &call).await
        })
    }
}
