//! The supervisor: the one place where a session's task state changes.
//!
//! Inputs are decided on a draft of the state as they come, gathered while a commit is under way, and committed
//! together. Only after the commit is the durable state moved on, the events published, and the rest performed.

mod actor;
mod link;
mod rejected;

use std::sync::Arc;

use kernel::{Effect, Input, Kernel};
use protocol::{Body, Entry, Event, MailId, Run};
use store::Writer;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::AbortOnDropHandle;

pub(crate) use actor::Parts;
pub(crate) use link::{Link, Told};
pub use rejected::Rejected;

use crate::session::Status;

/// How many inputs may wait to be decided.
const WAITING: usize = 1024;

/// Runs an activation to its end.
pub(crate) trait Perform: Send + Sync {
    /// Performs the activation that the link belongs to.
    fn perform(&self, link: Link, kind: protocol::Kind) -> tools::BoxFuture<'static, ()>;
}

/// A way to give the supervisor inputs.
#[derive(Debug, Clone)]
pub(crate) struct Supervisor {
    inbox: mpsc::Sender<Message>,
    /// How many questions were settled: what was set aside for them is free again.
    settled: watch::Receiver<u64>,
}

enum Message {
    Input(Box<Given>),
    Look(Box<dyn FnOnce(&Kernel) + Send>),
    /// A command that is not carried out, though nothing is decided about it.
    Refuse {
        command: i64,
        rejected: Rejected,
        reply: Reply,
    },
    Leave,
}

/// An input with who gave it.
struct Given {
    input: Input,
    /// The command of another process that it carries out.
    command: Option<i64>,
    reply: Option<Reply>,
}

type Reply = oneshot::Sender<Result<Receipt, Rejected>>;

type Answer = oneshot::Receiver<Result<Receipt, Rejected>>;

/// What an input led to, for whoever gave it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The first message that was admitted; a result that it led to is none.
    pub mail: Option<MailId>,
}

impl Receipt {
    fn of(effects: &[Effect]) -> Receipt {
        let mail = effects.iter().find_map(|effect| match effect {
            Effect::Record(Entry { event: Event::MailAdmitted { mail, body: Body::Text { .. }, .. }, .. }) => {
                Some(*mail)
            }
            Effect::Record(_)
            | Effect::Start(_)
            | Effect::Go(_)
            | Effect::WaitOver { .. }
            | Effect::AskOver { .. }
            | Effect::Stop { .. } => None,
        });
        Receipt { mail }
    }
}

impl Supervisor {
    /// Gives an input and waits until what it led to is durable and known to the runs that it concerns.
    pub(crate) async fn submit(&self, input: Input) -> Result<Receipt, Rejected> {
        self.submit_for(input, None).await
    }

    /// The same for a command that another process left in the session's file.
    pub(crate) async fn submit_command(&self, input: Input, command: i64) -> Result<Receipt, Rejected> {
        self.submit_for(input, Some(command)).await
    }

    /// What a run reports.
    pub(crate) async fn report(&self, run: Run, report: kernel::Report) -> Result<(), Rejected> {
        self.submit(Input::Report(run, report)).await.map(|_receipt| ())
    }

    /// Two reports of a run, decided in their order and made durable together. To join two that are given apart would
    /// not do: when many wait to be heard, the second may come first.
    pub(crate) async fn report_both(
        &self,
        run: Run,
        first: kernel::Report,
        second: kernel::Report,
    ) -> Result<(Result<(), Rejected>, Result<(), Rejected>), Rejected> {
        let first = self.give(Input::Report(run, first), None).await?;
        let second = self.give(Input::Report(run, second), None).await?;
        Ok((answered(first).await.map(|_receipt| ()), answered(second).await.map(|_receipt| ())))
    }

    /// Inputs that are decided in their order and made durable together; fails with the first that is not taken.
    pub(crate) async fn submit_all(&self, inputs: impl IntoIterator<Item = Input>) -> Result<(), Rejected> {
        let mut answers = Vec::new();
        for input in inputs {
            answers.push(self.give(input, None).await?);
        }
        let mut all = Ok(());
        for answer in answers {
            all = all.and(answered(answer).await.map(|_receipt| ()));
        }
        all
    }

    /// Notes that a command of another process is not carried out, and why.
    pub(crate) async fn refuse_command(&self, command: i64, rejected: Rejected) -> Result<Receipt, Rejected> {
        let (reply, answer) = oneshot::channel();
        self.inbox.send(Message::Refuse { command, rejected, reply }).await.map_err(|_gone| Rejected::Gone)?;
        answered(answer).await
    }

    /// Tells of every question that is settled from now on.
    pub(crate) fn settled(&self) -> watch::Receiver<u64> {
        let mut settled = self.settled.clone();
        settled.mark_unchanged();
        settled
    }

    /// Looks at the durable state.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Kernel) -> T + Send + 'static,
    ) -> Result<T, Rejected> {
        let (reply, answer) = oneshot::channel();
        let look = Box::new(move |kernel: &Kernel| {
            // Whoever asked may have gone.
            let _unheard = reply.send(look(kernel));
        });
        self.inbox.send(Message::Look(look)).await.map_err(|_gone| Rejected::Gone)?;
        answer.await.map_err(|_gone| Rejected::Gone)
    }

    async fn submit_for(&self, input: Input, command: Option<i64>) -> Result<Receipt, Rejected> {
        answered(self.give(input, command).await?).await
    }

    /// Puts an input into the inbox, which may be full.
    async fn give(&self, input: Input, command: Option<i64>) -> Result<Answer, Rejected> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Input(Box::new(Given { input, command, reply: Some(reply) }));
        self.inbox.send(message).await.map_err(|_gone| Rejected::Gone)?;
        Ok(answer)
    }
}

async fn answered(answer: Answer) -> Result<Receipt, Rejected> {
    answer.await.map_err(|_gone| Rejected::Gone)?
}

/// The supervisor's task, owned by the session.
#[derive(Debug)]
pub(crate) struct Supervision {
    pub(crate) supervisor: Supervisor,
    pub(crate) status: watch::Receiver<Status>,
    task: AbortOnDropHandle<Option<Writer>>,
}

impl Supervision {
    /// Starts the supervisor; `perform` is given a handle to it.
    pub(crate) fn start(parts: Parts, perform: impl FnOnce(Supervisor) -> Arc<dyn Perform>) -> Supervision {
        let (inbox, messages) = mpsc::channel(WAITING);
        let (settle, settled) = watch::channel(0);
        let supervisor = Supervisor { inbox, settled };
        let perform = perform(supervisor.clone());
        let (status, watched) = watch::channel(Status::default());
        let actor = actor::Actor::new(parts, perform, supervisor.clone(), actor::Signs { status, settle });
        #[expect(clippy::disallowed_methods, reason = "its handle, which ends it, is a field of its owner")]
        let task = AbortOnDropHandle::new(tokio::spawn(actor.run(messages)));
        Supervision { supervisor, status: watched, task }
    }

    /// Ends the supervisor after what it was given, and gives the writer back if nothing else uses it.
    pub(crate) async fn leave(self) -> Option<Writer> {
        // A supervisor that is gone needs no word.
        let _gone = self.supervisor.inbox.send(Message::Leave).await;
        self.task.await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use kernel::{Point, Report};
    use protocol::{Activation, Attempt, TaskId, WrapUp};

    use super::*;

    /// The reports in the order that they come out, without an answer.
    async fn heard(messages: &mut mpsc::Receiver<Message>) -> Option<Report> {
        match messages.recv().await? {
            Message::Input(given) => match given.input {
                Input::Report(_, report) => Some(report),
                other => panic!("{other:?}"),
            },
            Message::Look(_) | Message::Refuse { .. } | Message::Leave => panic!("not a report"),
        }
    }

    #[tokio::test]
    async fn two_reports_keep_their_order_when_the_inbox_is_full() {
        let (inbox, mut messages) = mpsc::channel(2);
        let (_settle, settled) = watch::channel(0);
        let supervisor = Supervisor { inbox, settled };
        let task = TaskId::new("01a1df6b4dd47148a5c728adbc8f474d".parse().unwrap());
        let run = Run { task, activation: Activation(1), attempt: Attempt(1) };
        let before = || Report::Intent("before".into());
        let fill = supervisor.clone();
        let both = tokio::join!(
            async move { fill.report_both(run, before(), before()).await.is_ok() },
            async move {
                let (first, second) = (Report::Boundary(Point::Between), Report::WrapUp(WrapUp::Time));
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
        let (Report::Boundary(_), Report::WrapUp(_)) = (&both.2[2], &both.2[3]) else { panic!("{:?}", both.2) };
    }
    #[tokio::test]
    async fn a_slot_that_is_given_before_anybody_waits_for_it_is_not_lost() {
        let (inbox, _messages) = mpsc::channel(1);
        let (_settle, settled) = watch::channel(0);
        let task = TaskId::new("01a1df6b4dd47148a5c728adbc8f474d".parse().unwrap());
        let run = Run { task, activation: Activation(1), attempt: Attempt(1) };
        let (leash, mut link) = link::Leash::new(run, Supervisor { inbox, settled });
        leash.tell(Told::Go);
        // Between the refusal of its turn and its wait, a run hears what it was told.
        while link.told_already().is_some() {}
        assert!(link.take_slot());
        assert!(!link.take_slot(), "a slot is given once");
    }
}
