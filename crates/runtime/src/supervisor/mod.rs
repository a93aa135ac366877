//! The supervisor: the one place where a session's task state changes.
//!
//! Inputs are decided on a draft of the state as they come, gathered while a commit is under way, and committed
//! together. Only after the commit is the durable state moved on, the events published, and the rest performed.

mod actor;
mod link;
mod rejection;

use std::sync::Arc;

use kernel::{Kernel, KernelEffect, KernelInput};
use protocol::{Event, LogEntry, MailBody, MailId, RunId};
use store::SessionWriter;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::AbortOnDropHandle;

pub(crate) use actor::SupervisorParts;
pub(crate) use link::{RunLink, RunMessage};
pub use rejection::InputRejection;

use crate::session::SessionStatus;

/// How many inputs may wait to be decided.
const WAITING: usize = 1024;

/// Runs an activation to its end.
pub(crate) trait ActivationRunner: Send + Sync {
    /// Performs the activation that the link belongs to.
    fn perform(&self, link: RunLink, kind: protocol::TaskType) -> tools::BoxFuture<'static, ()>;
}

/// A way to give the supervisor inputs.
#[derive(Debug, Clone)]
pub(crate) struct Supervisor {
    inbox: mpsc::Sender<SupervisorMessage>,
    /// How many questions were settled: what was set aside for them is free again.
    settled: watch::Receiver<u64>,
}

enum SupervisorMessage {
    Input(Box<SubmittedInput>),
    Query(Box<dyn FnOnce(&Kernel) + Send>),
    /// A command that is not carried out, though nothing is decided about it.
    Refuse {
        command: i64,
        rejected: InputRejection,
        reply: ReplySender,
    },
    Leave,
}

/// An input with who gave it.
struct SubmittedInput {
    input: KernelInput,
    /// The command of another process that it carries out.
    command: Option<i64>,
    reply: Option<ReplySender>,
}

type ReplySender = oneshot::Sender<Result<Receipt, InputRejection>>;

type ReplyReceiver = oneshot::Receiver<Result<Receipt, InputRejection>>;

/// What an input led to, for whoever gave it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The first message that was admitted; a result that it led to is none.
    pub mail: Option<MailId>,
}

impl Receipt {
    fn of(effects: &[KernelEffect]) -> Receipt {
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
    /// Gives an input and waits until what it led to is durable and known to the runs that it concerns.
    pub(crate) async fn submit(&self, input: KernelInput) -> Result<Receipt, InputRejection> {
        self.submit_for(input, None).await
    }

    /// The same for a command that another process left in the session's file.
    pub(crate) async fn submit_command(&self, input: KernelInput, command: i64) -> Result<Receipt, InputRejection> {
        self.submit_for(input, Some(command)).await
    }

    /// What a run reports.
    pub(crate) async fn report(&self, run: RunId, report: kernel::RunUpdate) -> Result<(), InputRejection> {
        self.submit(KernelInput::Report(run, report)).await.map(|_receipt| ())
    }

    /// Two reports of a run, decided in their order and made durable together. To join two that are given apart would
    /// not do: when many wait to be heard, the second may come first.
    pub(crate) async fn report_both(
        &self,
        run: RunId,
        first: kernel::RunUpdate,
        second: kernel::RunUpdate,
    ) -> Result<(Result<(), InputRejection>, Result<(), InputRejection>), InputRejection> {
        let first = self.enqueue(KernelInput::Report(run, first), None).await?;
        let second = self.enqueue(KernelInput::Report(run, second), None).await?;
        Ok((await_reply(first).await.map(|_receipt| ()), await_reply(second).await.map(|_receipt| ())))
    }

    /// Inputs that are decided in their order and made durable together; fails with the first that is not taken.
    pub(crate) async fn submit_all(&self, inputs: impl IntoIterator<Item = KernelInput>) -> Result<(), InputRejection> {
        let mut answers = Vec::new();
        for input in inputs {
            answers.push(self.enqueue(input, None).await?);
        }
        let mut all = Ok(());
        for answer in answers {
            all = all.and(await_reply(answer).await.map(|_receipt| ()));
        }
        all
    }

    /// Notes that a command of another process is not carried out, and why.
    pub(crate) async fn refuse_command(
        &self,
        command: i64,
        rejected: InputRejection,
    ) -> Result<Receipt, InputRejection> {
        let (reply, answer) = oneshot::channel();
        self.inbox
            .send(SupervisorMessage::Refuse { command, rejected, reply })
            .await
            .map_err(|_gone| InputRejection::SessionEnded)?;
        await_reply(answer).await
    }

    /// Tells of every question that is settled from now on.
    pub(crate) fn settled(&self) -> watch::Receiver<u64> {
        let mut settled = self.settled.clone();
        settled.mark_unchanged();
        settled
    }

    /// Looks at the durable state.
    pub(crate) async fn query<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Kernel) -> T + Send + 'static,
    ) -> Result<T, InputRejection> {
        let (reply, answer) = oneshot::channel();
        let look = Box::new(move |kernel: &Kernel| {
            // Whoever asked may have gone.
            let _unheard = reply.send(look(kernel));
        });
        self.inbox.send(SupervisorMessage::Query(look)).await.map_err(|_gone| InputRejection::SessionEnded)?;
        answer.await.map_err(|_gone| InputRejection::SessionEnded)
    }

    async fn submit_for(&self, input: KernelInput, command: Option<i64>) -> Result<Receipt, InputRejection> {
        await_reply(self.enqueue(input, command).await?).await
    }

    /// Puts an input into the inbox, which may be full.
    async fn enqueue(&self, input: KernelInput, command: Option<i64>) -> Result<ReplyReceiver, InputRejection> {
        let (reply, answer) = oneshot::channel();
        let message = SupervisorMessage::Input(Box::new(SubmittedInput { input, command, reply: Some(reply) }));
        self.inbox.send(message).await.map_err(|_gone| InputRejection::SessionEnded)?;
        Ok(answer)
    }
}

async fn await_reply(answer: ReplyReceiver) -> Result<Receipt, InputRejection> {
    answer.await.map_err(|_gone| InputRejection::SessionEnded)?
}

/// The supervisor's task, owned by the session.
#[derive(Debug)]
pub(crate) struct SupervisorTask {
    pub(crate) supervisor: Supervisor,
    pub(crate) status: watch::Receiver<SessionStatus>,
    task: AbortOnDropHandle<Option<SessionWriter>>,
}

impl SupervisorTask {
    /// Starts the supervisor; `perform` is given a handle to it.
    pub(crate) fn start(
        parts: SupervisorParts,
        perform: impl FnOnce(Supervisor) -> Arc<dyn ActivationRunner>,
    ) -> SupervisorTask {
        let (inbox, messages) = mpsc::channel(WAITING);
        let (settle, settled) = watch::channel(0);
        let supervisor = Supervisor { inbox, settled };
        let perform = perform(supervisor.clone());
        let (status, watched) = watch::channel(SessionStatus::default());
        let actor = actor::Actor::new(parts, perform, supervisor.clone(), actor::SupervisorSignals { status, settle });
        #[expect(clippy::disallowed_methods, reason = "its handle, which ends it, is a field of its owner")]
        let task = AbortOnDropHandle::new(tokio::spawn(actor.run(messages)));
        SupervisorTask { supervisor, status: watched, task }
    }

    /// Ends the supervisor after what it was given, and gives the writer back if nothing else uses it.
    pub(crate) async fn leave(self) -> Option<SessionWriter> {
        // A supervisor that is gone needs no word.
        let _gone = self.supervisor.inbox.send(SupervisorMessage::Leave).await;
        self.task.await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use kernel::{BoundaryPoint, RunUpdate};
    use protocol::{Activation, Attempt, TaskId, WrapUpReason};

    use super::*;

    /// The reports in the order that they come out, without an answer.
    async fn heard(messages: &mut mpsc::Receiver<SupervisorMessage>) -> Option<RunUpdate> {
        match messages.recv().await? {
            SupervisorMessage::Input(given) => match given.input {
                KernelInput::Report(_, report) => Some(report),
                other => panic!("{other:?}"),
            },
            SupervisorMessage::Query(_) | SupervisorMessage::Refuse { .. } | SupervisorMessage::Leave => {
                panic!("not a report")
            }
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
        let both = tokio::join!(
            async move { fill.report_both(run, before(), before()).await.is_ok() },
            async move {
                let (first, second) =
                    (RunUpdate::Boundary(BoundaryPoint::Between), RunUpdate::WrapUp(WrapUpReason::Time));
                supervisor.report_both(run, first, second).await.is_ok()
            },
            async move {
                tokio::task::yield_now().await;
                let mut order = Vec::new();
                while order.len() < 4
                    && let Some(report) = heard(&mut messages).await
                {
                    order.push(report);
                }
                order
            },
        );
        let (RunUpdate::Boundary(_), RunUpdate::WrapUp(_)) = (&both.2[2], &both.2[3]) else { panic!("{:?}", both.2) };
    }
    #[tokio::test]
    async fn a_slot_that_is_given_before_anybody_waits_for_it_is_not_lost() {
        let (inbox, _messages) = mpsc::channel(1);
        let (_settle, settled) = watch::channel(0);
        let task = TaskId::new("01a1df6b4dd47148a5c728adbc8f474d".parse().unwrap());
        let run = RunId { task, activation: Activation(1), attempt: Attempt(1) };
        let (handle, mut link) = link::RunHandle::new(run, Supervisor { inbox, settled });
        handle.send(RunMessage::Go);
        // Between the refusal of its turn and its wait, a run hears what it was told.
        while link.try_next_message().is_some() {}
        assert!(link.take_slot());
        assert!(!link.take_slot(), "a slot is given once");
    }
}
