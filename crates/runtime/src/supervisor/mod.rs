//! The supervisor: the one place where a session's task state changes.
//!
//! It decides inputs on a draft of the state as they arrive, gathers them while a commit is under way, and commits them
//! together. Only after the commit does it update the durable state, publish the events and perform the other effects.

mod actor;
mod link;
mod reader_waits;
mod rejection;

use std::sync::Arc;

use kernel::{Kernel, KernelEffect, KernelInput, ReaderWait};
use protocol::{Event, LogEntry, MailBody, MailId, RunId};
use store::SessionWriter;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::AbortOnDropHandle;

pub(crate) use actor::SupervisorParts;
pub(crate) use link::{RunLink, RunMessage, RunMessages};
pub use rejection::InputRejection;

use self::reader_waits::OpenReaderWait;
use crate::executors::Executors;
use crate::session::SessionStatus;

/// How many inputs may wait for a decision.
const INBOX_CAPACITY: usize = 1024;

/// A handle to submit inputs to the supervisor.
#[derive(Debug, Clone)]
pub(crate) struct Supervisor {
    inbox: mpsc::Sender<SupervisorMessage>,
    /// The number of settled model requests. Each one frees its reservation.
    settled: watch::Receiver<u64>,
}

enum SupervisorMessage {
    Input(Box<SubmittedInput>),
    Query(Box<dyn FnOnce(&Kernel) + Send>),
    /// A reader waits for something that the durable state will show.
    Wait(OpenReaderWait),
    FleetActivity(FleetActivity),
    /// A command that is refused without a decision of the kernel.
    Refuse {
        command: i64,
        rejected: InputRejection,
        reply: ReplySender,
    },
    Shutdown,
}

/// Whether this process drives a fleet. The status shows it: between two workers no task may be running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FleetActivity {
    /// It drives one.
    Driven,
    /// It drives none.
    Over,
    /// It drives none: the latest one cannot continue here, for this reason.
    Broken(Arc<str>),
}

/// An input with its origin.
struct SubmittedInput {
    input: KernelInput,
    /// The command of another process that the input executes.
    command: Option<i64>,
    reply: Option<ReplySender>,
}

type ReplySender = oneshot::Sender<Result<Receipt, InputRejection>>;

type ReplyReceiver = oneshot::Receiver<Result<Receipt, InputRejection>>;

/// The result of an input, for its submitter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The first message that was admitted, not counting results of tasks.
    pub mail: Option<MailId>,
}

impl Receipt {
    fn from_effects(effects: &[KernelEffect]) -> Receipt {
        let mail = effects.iter().find_map(|effect| match effect {
            KernelEffect::Record(LogEntry {
                event: Event::MailAdmitted { mail, body: MailBody::Text { .. }, .. },
                ..
            }) => Some(*mail),
            KernelEffect::Record(_)
            | KernelEffect::Start(_)
            | KernelEffect::MayProceed(_)
            | KernelEffect::WaitOver { .. }
            | KernelEffect::AskOver { .. }
            | KernelEffect::Stop { .. } => None,
        });
        Receipt { mail }
    }
}

impl Supervisor {
    /// Submits an input and waits until its events are committed and sent to the affected runs.
    pub(crate) async fn submit(&self, input: KernelInput) -> Result<Receipt, InputRejection> {
        self.submit_for(input, None).await
    }

    /// Like [`Supervisor::submit`], for a command that another process left in the session's file.
    pub(crate) async fn submit_command(&self, input: KernelInput, command: i64) -> Result<Receipt, InputRejection> {
        self.submit_for(input, Some(command)).await
    }

    /// Submits a report of a run.
    pub(crate) async fn report(&self, run: RunId, report: kernel::RunUpdate) -> Result<(), InputRejection> {
        self.submit(KernelInput::Report(run, report)).await.map(|_receipt| ())
    }

    /// Submits inputs that are decided in order and committed together; each has its own result. Concurrent submissions
    /// would not do: with a full inbox, a later one may come first.
    pub(crate) async fn submit_each(
        &self,
        inputs: impl IntoIterator<Item = KernelInput>,
    ) -> Vec<Result<Receipt, InputRejection>> {
        let mut replies = Vec::new();
        for input in inputs {
            replies.push(self.enqueue(input, None).await);
        }
        let mut results = Vec::with_capacity(replies.len());
        for reply in replies {
            results.push(match reply {
                Ok(receiver) => await_reply(receiver).await,
                Err(gone) => Err(gone),
            });
        }
        results
    }

    /// Submits inputs that are decided in order and committed together; fails with the first rejection.
    pub(crate) async fn submit_all(&self, inputs: impl IntoIterator<Item = KernelInput>) -> Result<(), InputRejection> {
        self.submit_each(inputs).await.into_iter().try_for_each(|result| result.map(|_receipt| ()))
    }

    /// Records that a command of another process is refused, and why.
    pub(crate) async fn refuse_command(
        &self,
        command: i64,
        rejected: InputRejection,
    ) -> Result<Receipt, InputRejection> {
        let (reply, receiver) = oneshot::channel();
        self.inbox
            .send(SupervisorMessage::Refuse { command, rejected, reply })
            .await
            .map_err(|_gone| InputRejection::SessionEnded)?;
        await_reply(receiver).await
    }

    /// Signals every model request that is settled from now on.
    pub(crate) fn settled(&self) -> watch::Receiver<u64> {
        let mut settled = self.settled.clone();
        settled.mark_unchanged();
        settled
    }

    /// Queries the durable state.
    pub(crate) async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Kernel) -> T + Send + 'static,
    ) -> Result<T, InputRejection> {
        let (reply, receiver) = oneshot::channel();
        let query = Box::new(move |kernel: &Kernel| {
            // The caller may be gone.
            let _gone = reply.send(query(kernel));
        });
        self.inbox.send(SupervisorMessage::Query(query)).await.map_err(|_gone| InputRejection::SessionEnded)?;
        receiver.await.map_err(|_gone| InputRejection::SessionEnded)
    }

    /// Waits, without a time limit, until the durable state shows what a reader waits for. Dropping the future ends the
    /// wait.
    pub(crate) async fn wait_for(&self, wait: ReaderWait) -> Result<(), InputRejection> {
        let (reply, receiver) = oneshot::channel();
        let message = SupervisorMessage::Wait(OpenReaderWait { wait, reply });
        self.inbox.send(message).await.map_err(|_gone| InputRejection::SessionEnded)?;
        receiver.await.map_err(|_gone| InputRejection::SessionEnded)?
    }

    /// Puts into the status whether this process drives a fleet, before the inputs that are submitted from now on.
    pub(crate) async fn show_fleet(&self, activity: FleetActivity) {
        // A supervisor that is gone has no status any more.
        let _gone = self.inbox.send(SupervisorMessage::FleetActivity(activity)).await;
    }

    async fn submit_for(&self, input: KernelInput, command: Option<i64>) -> Result<Receipt, InputRejection> {
        await_reply(self.enqueue(input, command).await?).await
    }

    /// Puts an input into the inbox, which may be full.
    async fn enqueue(&self, input: KernelInput, command: Option<i64>) -> Result<ReplyReceiver, InputRejection> {
        let (reply, receiver) = oneshot::channel();
        let message = SupervisorMessage::Input(Box::new(SubmittedInput { input, command, reply: Some(reply) }));
        self.inbox.send(message).await.map_err(|_gone| InputRejection::SessionEnded)?;
        Ok(receiver)
    }
}

async fn await_reply(receiver: ReplyReceiver) -> Result<Receipt, InputRejection> {
    receiver.await.map_err(|_gone| InputRejection::SessionEnded)?
}

/// The supervisor's task, owned by the session.
#[derive(Debug)]
pub(crate) struct SupervisorTask {
    pub(crate) supervisor: Supervisor,
    pub(crate) status: watch::Receiver<SessionStatus>,
    task: AbortOnDropHandle<Option<SessionWriter>>,
}

impl SupervisorTask {
    /// Starts the supervisor, which has these executors perform the runs.
    pub(crate) fn start(parts: SupervisorParts, executors: Executors) -> SupervisorTask {
        let (inbox, messages) = mpsc::channel(INBOX_CAPACITY);
        let (settled_sender, settled) = watch::channel(0);
        let supervisor = Supervisor { inbox, settled };
        let (status, status_receiver) = watch::channel(SessionStatus::default());
        let actor = actor::Actor::new(
            parts,
            executors,
            supervisor.clone(),
            actor::SupervisorSignals { status, settled_requests: settled_sender },
        );
        #[expect(clippy::disallowed_methods, reason = "its handle, which ends it, is a field of its owner")]
        let task = AbortOnDropHandle::new(tokio::spawn(actor.run(messages)));
        SupervisorTask { supervisor, status: status_receiver, task }
    }

    /// Ends the supervisor after its pending inputs, and returns the writer if nothing else uses it.
    pub(crate) async fn shut_down(self) -> Option<SessionWriter> {
        // The supervisor may be gone already.
        let _gone = self.supervisor.inbox.send(SupervisorMessage::Shutdown).await;
        self.task.await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kernel::{BoundaryPoint, RunEnding, RunUpdate};
    use protocol::{Activation, Attempt, FailKind, PlaceName, TaskId, TaskType, WrapUpReason};

    use super::*;
    use crate::executors::Executor;

    /// The next report from the inbox, without a reply.
    async fn next_report(messages: &mut mpsc::Receiver<SupervisorMessage>) -> Option<RunUpdate> {
        match messages.recv().await? {
            SupervisorMessage::Input(submitted) => match submitted.input {
                KernelInput::Report(_, report) => Some(report),
                other => panic!("{other:?}"),
            },
            SupervisorMessage::Query(_)
            | SupervisorMessage::Wait(_)
            | SupervisorMessage::FleetActivity(_)
            | SupervisorMessage::Refuse { .. }
            | SupervisorMessage::Shutdown => panic!("not a report"),
        }
    }

    #[tokio::test]
    async fn two_reports_keep_their_order_when_the_inbox_is_full() {
        let (inbox, mut messages) = mpsc::channel(2);
        let (_settle, settled) = watch::channel(0);
        let supervisor = Supervisor { inbox, settled };
        let task = TaskId::new("01a1df6b4dd47148a5c728adbc8f474d".parse().unwrap());
        let run = RunId { task, activation: Activation(1), attempt: Attempt(1) };
        let before = || RunUpdate::Intent("before".into());
        let fill = supervisor.clone();
        let results = tokio::join!(
            async move { fill.submit_each([before(), before()].map(|report| KernelInput::Report(run, report))).await.len() },
            async move {
                let (first, second) =
                    (RunUpdate::Boundary(BoundaryPoint::BetweenTurns), RunUpdate::WrapUp(WrapUpReason::Time));
                supervisor.submit_each([first, second].map(|report| KernelInput::Report(run, report))).await.len()
            },
            async move {
                tokio::task::yield_now().await;
                let mut order = Vec::new();
                while order.len() < 4
                    && let Some(report) = next_report(&mut messages).await
                {
                    order.push(report);
                }
                order
            },
        );
        let (RunUpdate::Boundary(_), RunUpdate::WrapUp(_)) = (&results.2[2], &results.2[3]) else {
            panic!("{:?}", results.2)
        };
    }

    /// A link of a run, and the inbox that its reports go to.
    fn test_link() -> (RunLink, mpsc::Receiver<SupervisorMessage>) {
        let (inbox, messages) = mpsc::channel(8);
        let (_settle, settled) = watch::channel(0);
        let task = TaskId::new("01a1df6b4dd47148a5c728adbc8f474d".parse().unwrap());
        let run = RunId { task, activation: Activation(1), attempt: Attempt(1) };
        let (_handle, link) = link::RunHandle::new(run, Supervisor { inbox, settled });
        (link, messages)
    }

    #[tokio::test]
    async fn a_task_without_an_executor_reads_its_mail_and_fails() {
        let (link, mut messages) = test_link();
        let run = Executors::default().run(TaskType::Shell, Some(&PlaceName("pipe".into())), link);
        let read_both = async { (next_report(&mut messages).await, next_report(&mut messages).await) };
        let ((), reports) = tokio::join!(run, read_both);
        let (Some(RunUpdate::Boundary(_)), Some(RunUpdate::Ended { ending, .. })) = reports else {
            panic!("{reports:?}")
        };
        let message = "there is no executor for tasks of type shell at pipe".into();
        assert_eq!(ending, RunEnding::Failed { kind: FailKind::Internal, message });
    }

    /// Notes each run under its name.
    #[derive(Debug)]
    struct NotingExecutor(&'static str, mpsc::UnboundedSender<&'static str>);

    impl Executor for NotingExecutor {
        fn run(&self, _link: RunLink) -> tools::BoxFuture<'static, ()> {
            self.1.send(self.0).unwrap();
            Box::pin(async {})
        }
    }

    #[tokio::test]
    async fn an_executor_runs_only_the_tasks_of_its_type_and_place() {
        let (noted, mut runs) = mpsc::unbounded_channel();
        let pipe = PlaceName("pipe".into());
        let mut executors = Executors::default();
        let registered = [
            (TaskType::Agent, None, "local agent"),
            (TaskType::Agent, Some(pipe.clone()), "agent at the pipe"),
            (TaskType::Shell, None, "local command"),
        ];
        for (kind, place, name) in registered {
            executors.register(kind, place, Arc::new(NotingExecutor(name, noted.clone())));
        }
        for (kind, place) in [(TaskType::Agent, Some(&pipe)), (TaskType::Shell, None), (TaskType::Agent, None)] {
            executors.run(kind, place, test_link().0).await;
        }
        drop((executors, noted));
        let mut order = Vec::new();
        while let Some(name) = runs.recv().await {
            order.push(name);
        }
        assert_eq!(order, ["agent at the pipe", "local command", "local agent"]);
    }

    #[tokio::test]
    async fn a_slot_given_before_the_run_waits_for_it_is_not_lost() {
        let (inbox, _messages) = mpsc::channel(1);
        let (_settle, settled) = watch::channel(0);
        let task = TaskId::new("01a1df6b4dd47148a5c728adbc8f474d".parse().unwrap());
        let run = RunId { task, activation: Activation(1), attempt: Attempt(1) };
        let (handle, mut link) = link::RunHandle::new(run, Supervisor { inbox, settled });
        handle.send(RunMessage::SlotRegained);
        // Between the refusal of its turn and its wait, a run applies its messages.
        while link.messages.try_next().is_some() {}
        assert!(link.messages.take_slot());
        assert!(!link.messages.take_slot(), "a slot is given once");
    }
}
