//! Tasks of MCP servers' tools: follows a task that its server does, and waits for a call that moved to the background.
//! Another owner of the session goes on following the server's task; a call has no such second chance.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host::Clock;
use kernel::{BoundaryPoint, InputRefusal, RunEnding, RunUpdate};
use protocol::{
    Attempt, CallId, Event, FailKind, LimitKind, McpTaskReport, McpTaskSpec, RunId, TaskId, Timestamp, ToolResult,
    ToolResultStatus, Turn, clip_middle,
};
use tokio::time::{Instant, sleep};
use tools::{
    BoxFuture, CallEnd, CallInProgress, FirstPoll, RemoteOutcome, RemoteTaskContext, RemoteTaskEnd, RemoteTaskObserver,
    RemoteTaskRef, ToolError, UserPrompter, UserQuestion,
};

use super::Executor;
use crate::asks::UserAsker;
use crate::call_waits::{CallWaits, Caller};
use crate::compact::one_line;
use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, RunLink, Supervisor};

/// The longest sleep before the clock is checked again, so that a machine that slept does not delay a deadline.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The shortest time between two reports of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum bytes of the reason why a task failed.
const MAX_REASON_BYTES: usize = 500;

/// Runs tasks of MCP servers' tools.
#[derive(Debug)]
pub(super) struct McpExecutor(pub(super) Arc<SessionContext>);

impl Executor for McpExecutor {
    fn run(&self, link: RunLink) -> BoxFuture<'static, ()> {
        let run = McpTaskRun {
            context: Arc::clone(&self.0),
            supervisor: link.supervisor.clone(),
            run: link.run,
            waits: link.call_waits.clone(),
        };
        Box::pin(async move {
            if let Err(rejected) = run.perform().await {
                tracing::info!(run = %run.run, %rejected, "the MCP task stops");
            }
        })
    }

    fn cancelled(&self, task: TaskId) -> Option<BoxFuture<'static, ()>> {
        // Dropping a call cancels it.
        drop(self.0.moved_calls.take(task));
        let spec = mcp_spec(&self.0, task).filter(|spec| spec.remote.is_some())?;
        let context = Arc::clone(&self.0);
        Some(Box::pin(async move { cancel_remote(&context, &spec).await }))
    }
}

fn mcp_spec(context: &SessionContext, task: TaskId) -> Option<McpTaskSpec> {
    context.log.roster.with_task(task, |entry| entry.spec.mcp.as_deref().cloned()).flatten()
}

/// Asks the server to cancel its task.
async fn cancel_remote(context: &SessionContext, spec: &McpTaskSpec) {
    let catalog = context.catalog.tool_catalog.as_ref();
    if let (Some(servers), Some(remote)) = (catalog.and_then(|catalog| catalog.remote_tasks()), &spec.remote) {
        servers.cancel(RemoteTaskRef { spec, remote }, &context.workplace.guardian).await;
    }
}

/// One run of a task.
#[derive(Debug, Clone)]
struct McpTaskRun {
    context: Arc<SessionContext>,
    supervisor: Supervisor,
    run: RunId,
    waits: CallWaits,
}

impl McpTaskRun {
    async fn perform(&self) -> Result<(), InputRejection> {
        self.read_mail().await?;
        let (ending, text) = match mcp_spec(&self.context, self.run.task) {
            Some(spec) => self.end_of(spec).await,
            None => {
                let message = "the task names no server".to_owned();
                (RunEnding::Failed { kind: FailKind::Internal, message }, String::new())
            }
        };
        self.report(RunUpdate::Ended { ending, text }).await
    }

    /// Reads the arguments of the call, the task's only mail. An earlier run with an open question has read it.
    async fn read_mail(&self) -> Result<(), InputRejection> {
        match self.report(RunUpdate::Boundary(BoundaryPoint::BetweenTurns)).await {
            Err(InputRejection::Refused(InputRefusal::TurnInProgress)) => Ok(()),
            read => read,
        }
    }

    /// How the task ends.
    async fn end_of(&self, mut spec: McpTaskSpec) -> (RunEnding, String) {
        let questioner = Arc::new(TaskQuestioner::new(self.clone()));
        if let Some(call) = self.context.moved_calls.take(self.run.task) {
            let ended = self.in_time(&spec, self.await_call(call, &spec, &questioner)).await;
            let (remote, time_limit) = match ended {
                Ok(CallEnd::Answered(end)) => return ending_of(end),
                Ok(CallEnd::Task { remote, time_limit }) => (remote, time_limit),
                Err(ending) => return ending,
            };
            let started_at = self.context.facts.clock.now();
            let deadline_at = started_at.plus(time_limit);
            spec = McpTaskSpec { remote: Some(remote), started_at, deadline_at, ..spec };
            // From here on, another owner of the session follows the server's task too.
            RemoteTaskObserver::report(&*questioner, McpTaskReport::new(spec.clone(), started_at)).await;
        }
        let Some(remote) = &spec.remote else {
            return ending_of(lost("the process that made the call has ended; it is unknown whether it was done"));
        };
        let followed = self.follow(RemoteTaskRef { spec: &spec, remote }, questioner);
        self.in_time(&spec, followed).await.map_or_else(|ending| ending, ending_of)
    }

    /// Waits for a step of the task; the error is the end of a task whose deadline comes first.
    async fn in_time<T>(&self, spec: &McpTaskSpec, step: impl Future<Output = T>) -> Result<T, (RunEnding, String)> {
        let deadline = sleep_until(&*self.context.facts.clock, spec.deadline_at);
        tokio::select! {
            done = step => Ok(done),
            () = deadline => {
                cancel_remote(&self.context, spec).await;
                let seconds = spec.deadline_at.since(spec.started_at).as_secs();
                let text = format!("the MCP server `{}` did not end the task within {seconds} s", spec.server);
                Err((RunEnding::TimedOut(LimitKind::Time), text))
            }
        }
    }

    /// Waits for a call that moved to the background.
    async fn await_call(&self, call: CallInProgress, spec: &McpTaskSpec, questioner: &Arc<TaskQuestioner>) -> CallEnd {
        let CallInProgress { mut end, prompter, mut progress } = call;
        prompter.replace(Arc::clone(questioner) as Arc<dyn UserPrompter>);
        loop {
            tokio::select! {
                end = &mut end => return end,
                Ok(()) = progress.changed() => {
                    let reported = progress.borrow_and_update().clone();
                    let now = self.context.facts.clock.now();
                    let report = McpTaskReport { progress: reported, ..McpTaskReport::new(spec.clone(), now) };
                    RemoteTaskObserver::report(&**questioner, report).await;
                    tokio::select! {
                        end = &mut end => return end,
                        () = sleep(PROGRESS_INTERVAL) => {}
                    }
                }
                else => return end.await,
            }
        }
    }

    async fn follow(&self, task: RemoteTaskRef<'_>, questioner: Arc<TaskQuestioner>) -> RemoteTaskEnd {
        let Some(servers) = self.context.catalog.tool_catalog.as_ref().and_then(|catalog| catalog.remote_tasks())
        else {
            return lost("the session has no MCP servers any more; the server's task is lost");
        };
        let first_poll = if self.run.attempt == Attempt(1) { FirstPoll::AfterInterval } else { FirstPoll::AtOnce };
        let cx = RemoteTaskContext {
            guardian: self.context.workplace.guardian.clone(),
            clock: Arc::clone(&self.context.facts.clock),
            observer: Arc::clone(&questioner) as Arc<dyn RemoteTaskObserver>,
            prompter: questioner,
            first_poll,
        };
        servers.follow(task, &cx).await
    }

    async fn report(&self, update: RunUpdate) -> Result<(), InputRejection> {
        self.supervisor.report(self.run, update).await
    }
}

fn lost(text: &str) -> RemoteTaskEnd {
    RemoteTaskEnd { outcome: RemoteOutcome::Lost, text: text.into() }
}

fn ending_of(RemoteTaskEnd { outcome, text }: RemoteTaskEnd) -> (RunEnding, String) {
    let ending = match outcome {
        RemoteOutcome::Completed => RunEnding::Completed,
        RemoteOutcome::Failed => {
            RunEnding::Failed { kind: FailKind::Reported, message: one_line(&text, MAX_REASON_BYTES) }
        }
        RemoteOutcome::Cancelled => RunEnding::CancelledByServer,
        RemoteOutcome::Lost => RunEnding::Lost,
    };
    (ending, text)
}

/// Sleeps until this time, also if the machine sleeps or its clock is set back meanwhile.
async fn sleep_until(clock: &dyn Clock, until: Timestamp) {
    let (began, delay) = (Instant::now(), until.since(clock.now()));
    loop {
        let remaining = until.since(clock.now()).min(delay.saturating_sub(began.elapsed()));
        if remaining.is_zero() {
            return;
        }
        sleep(remaining.min(CLOCK_CHECK_INTERVAL)).await;
    }
}

/// Asks the user in the name of a task, and records what its server says. Each question has a call of its own, which is
/// answered once the server has the user's answer, so that another owner of the session does not ask again.
#[derive(Debug)]
struct TaskQuestioner {
    run: McpTaskRun,
    /// The number of the next question.
    next: AtomicUsize,
    /// The calls of questions whose answers the server does not have yet.
    asked: Mutex<Vec<CallId>>,
}

impl TaskQuestioner {
    fn new(run: McpTaskRun) -> TaskQuestioner {
        let log = run.context.log.task_events_after(run.run.task, 0).unwrap_or_default();
        let answered = log.iter().filter(|entry| matches!(entry.entry.event, Event::CallAnswered { .. })).count();
        TaskQuestioner { run, next: AtomicUsize::new(answered + 1), asked: Mutex::default() }
    }

    fn take_asked(&self) -> Vec<CallId> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl UserPrompter for TaskQuestioner {
    fn ask(&self, question: UserQuestion) -> BoxFuture<'_, Result<Option<String>, ToolError>> {
        Box::pin(async move {
            let call = CallId(format!("question-{}", self.next.fetch_add(1, Ordering::Relaxed)));
            self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(call.clone());
            let McpTaskRun { context, supervisor, run, waits } = self.run.clone();
            let caller = Caller { supervisor, run, turn: Turn(0), call, waits, reported_results: Arc::default() };
            UserAsker { context, caller }.ask(question).await
        })
    }
}

impl RemoteTaskObserver for TaskQuestioner {
    fn report(&self, mut report: McpTaskReport) -> BoxFuture<'_, ()> {
        report.message.iter_mut().for_each(|text| *text = clip_middle(text, MAX_REASON_BYTES));
        Box::pin(async move {
            if let Err(rejected) = self.run.report(RunUpdate::McpReported(Box::new(report))).await {
                tracing::info!(run = %self.run.run, %rejected, "a report of an MCP task was rejected");
            }
        })
    }

    fn answers_sent(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            for call in self.take_asked() {
                let answer = ToolResult { status: ToolResultStatus::Done, text: "the server has the answer".into() };
                let answered = RunUpdate::CallAnswered { turn: Turn(0), call, answer, evidence: Vec::new() };
                if let Err(rejected) = self.run.report(answered).await {
                    tracing::info!(run = %self.run.run, %rejected, "a question of an MCP task stays open");
                }
            }
        })
    }
}
