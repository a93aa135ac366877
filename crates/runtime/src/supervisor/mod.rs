//! The supervisor: the one place where a session's task state changes.
//!
//! Inputs are decided on a draft of the state as they come, gathered while a commit is under way, and committed
//! together. Only after the commit is the durable state moved on, the events published, and the rest performed.

mod actor;
mod link;

use std::sync::Arc;

use kernel::{Effect, Input, Kernel, Refusal};
use policy::RuleError;
use protocol::{Entry, Event, MailId, Run};
use store::{StoreError, Writer};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::AbortOnDropHandle;

pub(crate) use actor::Parts;
pub(crate) use link::{Link, Told};

use crate::session::Status;

/// How many inputs may wait to be decided.
const WAITING: usize = 1024;

/// Runs an activation to its end.
pub(crate) trait Perform: Send + Sync {
    /// Performs the activation that the link belongs to.
    fn perform(&self, link: Link, kind: protocol::Kind) -> tools::BoxFuture<'static, ()>;
}

/// Why an input was not carried out.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Rejected {
    /// The kernel said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A decision carries a rule that is none.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// A hook did not take a prompt.
    #[error("a hook did not take the prompt: {0}")]
    Hook(String),
    /// The session is paused, because what was decided could not be made durable.
    #[error("the session is paused: {0}")]
    Paused(Arc<StoreError>),
    /// The session's run is over.
    #[error("the session has ended")]
    Gone,
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

/// What an input led to, for whoever gave it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The first mail that was admitted.
    pub mail: Option<MailId>,
}

impl Receipt {
    fn of(effects: &[Effect]) -> Receipt {
        let mail = effects.iter().find_map(|effect| match effect {
            Effect::Record(Entry { event: Event::MailAdmitted { mail, .. }, .. }) => Some(*mail),
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
        let (reply, answer) = oneshot::channel();
        let message = Message::Input(Box::new(Given { input, command, reply: Some(reply) }));
        self.inbox.send(message).await.map_err(|_gone| Rejected::Gone)?;
        answer.await.map_err(|_gone| Rejected::Gone)?
    }
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
