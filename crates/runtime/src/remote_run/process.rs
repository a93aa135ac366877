//! The process of a run: this program, started again with an argument. It talks to its session over its standard input
//! and output.

use std::convert::Infallible;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use host::{Guardian, Process, Program, SpawnError, Stderr, Stdin};
use rpc::{Connection, Framing, RpcMessage, SendError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tools::Heartbeat;

use super::connection::{self, Incoming, LIMITS, ProtocolError, StreamEnd, complaint};
use super::remote_session::RemoteSession;
use super::wire::{RunSetupError, SetupParts, WireRunNotice, WireSessionNotice};
use super::{RunLoss, ServedRun};
use crate::agent::{AgentLink, AgentRun};
use crate::grants::Grants;
use crate::run_requests::SessionRequests;
use crate::supervisor::{RunLink, RunMessage, RunMessages};

/// The argument that makes the program perform one run.
pub const RUN_ARGUMENT: &str = "__run";

/// How often the run shows that it is alive, as often as the watchdog checks.
const ALIVE_INTERVAL: Duration = Duration::from_secs(1);

/// The most threads for blocking work of a run.
const MAX_BLOCKING_THREADS: usize = 8;

/// The process of a run, as its session's process sees it. Dropping it kills the process and everything it started.
#[derive(Debug)]
pub(crate) struct RunProcess(Process);

impl RunProcess {
    /// Starts the process. It inherits nothing from this one's environment.
    pub(crate) async fn start(guardian: &Guardian, folder: &Path) -> Result<RunProcess, SpawnError> {
        let program = Program::new(guardian.executable(), folder).args([RUN_ARGUMENT]);
        let program = Program { stdin: Stdin::Pipe, stderr: Stderr::Null, ..program };
        guardian.spawn(program).await.map(RunProcess)
    }

    /// Serves the run until it is over.
    pub(crate) async fn serve(self, run: ServedRun, link: &mut RunLink) -> Result<(), RunLoss> {
        let Process { stdin, output, stderr: _, job } = self.0;
        let stdin = stdin.ok_or(RunLoss::Disconnected)?;
        let served = run.serve(link, output, stdin).await;
        drop(job);
        served
    }
}

/// Why the process of a run ends before the run does.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunProcessError {
    #[error("the standard input and output must be pipes: {0}")]
    NoPipes(#[from] io::Error),
    #[error("the session has ended the connection")]
    SessionGone,
    #[error("the session sent an invalid message: {0}")]
    Protocol(#[from] ProtocolError),
    #[error("a message of the run is too large: {0}")]
    Unsendable(SendError),
    #[error(transparent)]
    Setup(#[from] RunSetupError),
}

impl From<StreamEnd> for RunProcessError {
    fn from(end: StreamEnd) -> RunProcessError {
        match end {
            StreamEnd::Closed => RunProcessError::SessionGone,
            StreamEnd::Broken(error) => RunProcessError::Protocol(error),
        }
    }
}

/// Performs the run that the standard input hands over. A program that is started with [`RUN_ARGUMENT`] calls this first,
/// and exits with the returned code.
pub fn run_process_main() -> ExitCode {
    let performed = || -> Result<(), RunProcessError> {
        // The run receives keys, which nothing that it starts may read from this process.
        host::machine::seal_process()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(MAX_BLOCKING_THREADS)
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let input = pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
            let output = pipe::Sender::from_owned_fd(io::stdout().as_fd().try_clone_to_owned()?)?;
            perform_run(input, output).await
        })
    };
    // The session has been told why, if it still listens.
    if performed().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Performs the run that a session hands over on this stream.
pub(super) async fn perform_run<R, W>(input: R, output: W) -> Result<(), RunProcessError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let mut connection = Connection::new(input, output, Framing::ContentLength, LIMITS);
    let (outgoing, mut queue) = mpsc::unbounded_channel();
    let session = Arc::new(RemoteSession::new(outgoing));
    let performed = match open_run(&mut connection).await {
        Ok(opened) => perform(opened, &session, &mut connection, &mut queue).await,
        Err(error) => Err(error),
    };
    session.notify(&match &performed {
        Ok(()) => WireRunNotice::Finished,
        Err(error) => WireRunNotice::Failed { message: error.to_string() },
    });
    flush(&mut connection, &mut queue).await;
    if let Err(RunProcessError::Protocol(error)) = &performed {
        tracing::warn!(%error, "the session of a run sent an invalid message");
        connection.outbox().close(complaint(error));
    }
    connection.close().await;
    performed
}

/// Reads the setup of the run.
async fn open_run<R: AsyncRead + Unpin>(connection: &mut Connection<R>) -> Result<SetupParts, RunProcessError> {
    match next_message(connection).await? {
        Incoming::Notice(WireSessionNotice::Begin { setup }) => Ok(setup.open()?),
        Incoming::Notice(_) | Incoming::Request(..) | Incoming::Reply(..) => Err(ProtocolError::Unexpected.into()),
    }
}

async fn next_message<R: AsyncRead + Unpin>(
    connection: &mut Connection<R>,
) -> Result<Incoming<(), WireSessionNotice>, RunProcessError> {
    let frame = connection.next().await.map_err(StreamEnd::from)?.ok_or(RunProcessError::SessionGone)?;
    Ok(connection::parse(frame)?)
}

/// Performs the run to its end, or until its session cannot be reached any more.
async fn perform<R: AsyncRead + Unpin>(
    opened: SetupParts,
    session: &Arc<RemoteSession>,
    connection: &mut Connection<R>,
    queue: &mut mpsc::UnboundedReceiver<RpcMessage>,
) -> Result<(), RunProcessError> {
    let SetupParts { run, parts, grants } = opened;
    let (sender, messages) = RunMessages::channel();
    let heartbeat = Heartbeat::default();
    let link = AgentLink {
        run,
        session: Arc::clone(session) as Arc<dyn SessionRequests>,
        messages,
        heartbeat: heartbeat.clone(),
    };
    let run = AgentRun::new(parts, link).run();
    tokio::select! {
        biased;
        end = exchange(session, connection, queue, &sender, &grants) => Err(end),
        end = show_life(session, &heartbeat) => match end {},
        () = run => Ok(()),
    }
}

/// Exchanges messages with the session; returns why that ended.
pub(super) async fn exchange<R: AsyncRead + Unpin>(
    session: &RemoteSession,
    connection: &mut Connection<R>,
    queue: &mut mpsc::UnboundedReceiver<RpcMessage>,
    messages: &mpsc::UnboundedSender<RunMessage>,
    grants: &Grants,
) -> RunProcessError {
    let outbox = connection.outbox().clone();
    let write = async {
        while let Some(message) = queue.recv().await {
            // If the stream has ended, reading says so too.
            if let Err(error @ SendError::TooLarge { .. }) = outbox.send(message).await {
                return RunProcessError::Unsendable(error);
            }
        }
        RunProcessError::SessionGone
    };
    tokio::select! {
        biased;
        end = receive(session, connection, messages, grants) => end.map_or_else(|error| error, |never| match never {}),
        error = session.broken() => error.into(),
        end = write => end,
    }
}

/// Handles the session's messages. Nothing here waits, so that the session can always send.
async fn receive<R: AsyncRead + Unpin>(
    session: &RemoteSession,
    connection: &mut Connection<R>,
    messages: &mpsc::UnboundedSender<RunMessage>,
    grants: &Grants,
) -> Result<Infallible, RunProcessError> {
    loop {
        session.handle(next_message(connection).await?, messages, grants)?;
    }
}

/// Tells the session once a second that the run is alive, if it is.
async fn show_life(session: &RemoteSession, heartbeat: &Heartbeat) -> Infallible {
    loop {
        tokio::time::sleep(ALIVE_INTERVAL).await;
        if heartbeat.check_alive() {
            session.notify(&WireRunNotice::Alive);
        }
    }
}

/// Sends everything that is queued. Reads meanwhile, since the session may wait until its own messages are read.
async fn flush<R: AsyncRead + Unpin>(connection: &mut Connection<R>, queue: &mut mpsc::UnboundedReceiver<RpcMessage>) {
    let outbox = connection.outbox().clone();
    let send = async {
        while let Ok(message) = queue.try_recv() {
            if outbox.send(message).await.is_err() {
                return;
            }
        }
    };
    let skip = async { while let Ok(Some(_late)) = connection.next().await {} };
    tokio::select! {
        () = send => {}
        () = skip => {}
    }
}
