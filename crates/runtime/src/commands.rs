//! What a person says from another process: on the session's socket, or in the file of a session that nobody ran. The
//! file is read once, when the session goes on, before any program of it runs.

use std::sync::Arc;

use futures_util::future::join_all;
use kernel::{KernelInput, NewMail};
use protocol::api::{CommandOutcome, DecideParams, ModeParams, SessionCommand, StopTaskParams, TaskParams};
use protocol::{CancelBy, DecidedBy, FleetEnd, MailBody, Principal, TaskId};
use tokio::sync::{Notify, watch};

use crate::agent::SessionContext;
use crate::hooks;
use crate::supervisor::{InputRejection, Supervisor};

/// Most commands that are applied together.
const MAX_BATCH: usize = 256;

/// Who applies what was left for the session.
pub(crate) struct CommandListener {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) root: TaskId,
    pub(crate) supervisor: Supervisor,
    /// The commands that were there when the session was opened.
    pub(crate) pending: Vec<(i64, SessionCommand)>,
}

impl CommandListener {
    /// Applies the commands when the session goes on, and says when that is done.
    pub(crate) async fn run(self, go: Arc<Notify>, looked: watch::Sender<bool>) {
        go.notified().await;
        if let Ok(()) = self.apply().await {
            looked.send_replace(true);
            // Whoever asks later reads that it is done.
            std::future::pending().await
        }
    }

    /// Fails when there is nobody any more to apply them.
    async fn apply(&self) -> Result<(), InputRejection> {
        for commands in self.pending.chunks(MAX_BATCH) {
            let mut given = Vec::new();
            for (id, command) in commands {
                given.push((*id, resolve_input(&self.context, &self.supervisor, self.root, command.clone()).await));
            }
            // They line up in their order, and one commit can hold them all.
            let supervisor = &self.supervisor;
            let submit = |(id, input): (i64, Result<KernelInput, InputRejection>)| async move {
                match input {
                    Ok(input) => (id, supervisor.submit_command(input, id).await),
                    Err(rejected) => (id, supervisor.refuse_command(id, rejected).await),
                }
            };
            for (id, taken) in join_all(given.into_iter().map(submit)).await {
                match taken {
                    Ok(_receipt) => {}
                    Err(
                        rejected @ (InputRejection::Refused(_) | InputRejection::Rule(_) | InputRejection::Hook(_)),
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

/// Carries out a command that a person gives now, and says what became of it.
pub(crate) async fn carry_out(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    root: TaskId,
    command: SessionCommand,
) -> Result<CommandOutcome, InputRejection> {
    let taken = match resolve_input(context, supervisor, root, command).await {
        Ok(input) => supervisor.submit(input).await,
        Err(rejected) => Err(rejected),
    };
    match taken {
        Ok(receipt) => Ok(CommandOutcome::Applied { mail: receipt.mail }),
        Err(rejected @ (InputRejection::Paused(_) | InputRejection::SessionEnded)) => Err(rejected),
        Err(rejected) => Ok(CommandOutcome::Refused { kind: rejected.kind(), message: rejected.to_string() }),
    }
}

/// What a command means, with what hooks have to say to a prompt.
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

/// What a command means.
pub(crate) fn input_of(command: SessionCommand, root: TaskId) -> KernelInput {
    match command {
        SessionCommand::Send(params) => KernelInput::Send(NewMail {
            to: params.task.unwrap_or(root),
            from: Principal::User,
            delivery: params.delivery,
            body: MailBody::Text { text: params.text, images: params.images, display: params.display },
        }),
        SessionCommand::Interrupt => KernelInput::Interrupt(root),
        SessionCommand::StopFleet => KernelInput::EndFleet(FleetEnd::Stopped),
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
