//! Commands that the user gives in another process. They are sent to the session's socket, or stored while no process
//! owns the session. Stored commands are read once, when the session is resumed, before any of its programs runs.

use std::sync::Arc;

use futures_util::future::join_all;
use kernel::{KernelInput, NewMail};
use protocol::api::{CommandOutcome, DecideParams, ModeParams, SessionCommand, StopTaskParams, TaskParams};
use protocol::{CancelBy, DecidedBy, FleetEnd, MailBody, Principal, TaskId};
use tokio::sync::{Notify, watch};

use crate::hooks;
use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, Supervisor};

/// Maximum number of commands that are applied together.
const MAX_BATCH: usize = 256;

/// Applies the commands that were stored for the session.
pub(crate) struct StoredCommands {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) root: TaskId,
    pub(crate) supervisor: Supervisor,
    /// The commands that were stored when the session was opened.
    pub(crate) pending: Vec<(i64, SessionCommand)>,
}

impl StoredCommands {
    /// Applies the commands when the session resumes, and signals `applied`.
    pub(crate) async fn run(self, resume: Arc<Notify>, applied: watch::Sender<bool>) {
        resume.notified().await;
        if let Ok(()) = self.apply().await {
            applied.send_replace(true);
            // Keep `applied` open for later readers.
            std::future::pending().await
        }
    }

    /// Applies all pending commands. Fails when the session is paused or has ended.
    async fn apply(&self) -> Result<(), InputRejection> {
        for commands in self.pending.chunks(MAX_BATCH) {
            let mut inputs = Vec::new();
            for (id, command) in commands {
                inputs.push((*id, resolve_input(&self.context, &self.supervisor, self.root, command.clone()).await));
            }
            // The inputs are queued in order, and one commit can hold them all.
            let supervisor = &self.supervisor;
            let submit = |(id, input): (i64, Result<KernelInput, InputRejection>)| async move {
                match input {
                    Ok(input) => (id, supervisor.submit_command(input, id).await),
                    Err(rejected) => (id, supervisor.refuse_command(id, rejected).await),
                }
            };
            for (id, result) in join_all(inputs.into_iter().map(submit)).await {
                match result {
                    Ok(_receipt) => {}
                    Err(
                        rejected @ (InputRejection::Refused(_)
                        | InputRejection::Rule(_)
                        | InputRejection::Hook(_)
                        | InputRejection::Remote { .. }),
                    ) => {
                        tracing::info!(%rejected, id, "a command was refused");
                    }
                    Err(rejected @ (InputRejection::Paused(_) | InputRejection::SessionEnded)) => return Err(rejected),
                }
            }
        }
        Ok(())
    }
}

/// Carries out a command of the user and returns its outcome.
pub(crate) async fn carry_out(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    root: TaskId,
    command: SessionCommand,
) -> Result<CommandOutcome, InputRejection> {
    let result = match resolve_input(context, supervisor, root, command).await {
        Ok(input) => supervisor.submit(input).await,
        Err(rejected) => Err(rejected),
    };
    match result {
        Ok(receipt) => Ok(CommandOutcome::Applied { mail: receipt.mail }),
        Err(rejected @ (InputRejection::Paused(_) | InputRejection::SessionEnded)) => Err(rejected),
        Err(rejected) => Ok(CommandOutcome::Refused { kind: rejected.kind(), message: rejected.to_string() }),
    }
}

/// The kernel input of a command; the hooks of a prompt run first.
async fn resolve_input(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    root: TaskId,
    command: SessionCommand,
) -> Result<KernelInput, InputRejection> {
    let SessionCommand::Send(message) = command else { return Ok(input_of(command, root)) };
    let message = hooks::filter_prompt(context, supervisor, root, message).await?;
    Ok(input_of(SessionCommand::Send(message), root))
}

/// The kernel input of a command.
pub(crate) fn input_of(command: SessionCommand, root: TaskId) -> KernelInput {
    match command {
        SessionCommand::Send(params) => KernelInput::Send(NewMail {
            to: params.task.unwrap_or(root),
            from: Principal::User,
            delivery: params.delivery,
            body: MailBody::Text { text: params.text, images: params.images, display: params.display },
        }),
        SessionCommand::Interrupt => KernelInput::Interrupt(root),
        SessionCommand::StopFleet => KernelInput::EndFleet { end: FleetEnd::Stopped, why: None },
        SessionCommand::Stop => KernelInput::Stop { by: CancelBy::User },
        SessionCommand::StopTask(StopTaskParams { task, how }) => KernelInput::Cancel { task, by: CancelBy::User, how },
        SessionCommand::Promote(TaskParams { task }) => KernelInput::Promote(task),
        SessionCommand::Forget(TaskParams { task }) => KernelInput::Forget(task),
        SessionCommand::SetMode(ModeParams { mode }) => KernelInput::SetMode { mode, by: Principal::User },
        SessionCommand::Decide(DecideParams { ask, decision }) => {
            KernelInput::Decide { ask, decision, by: DecidedBy::User }
        }
    }
}
