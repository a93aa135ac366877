//! `bosun serve`: the session host, which keeps sessions that no terminal holds, and its HTTP server.

mod claim;
mod on_demand;
mod status;
mod token;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::adapters::http::{AccessToken, HttpLimits, HttpListener, OPENAPI, StreamEnd};
use host::{Clock, FileLock, Home, SystemClock};
use protocol::api::{HandOver, HostView, HttpEndpoint, ProgramFile};
use serde_json::json;
use server::{HostDescription, HostEnd, HostProcess, SessionHost};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tui::print;

use crate::args::ServeArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::sdk::LocalSessionOpener;
use crate::setup::Setup;
use claim::{HostClaim, TakeoverPolicy};
use tui::signals::{RunSignal, SignalListener};

pub(crate) use on_demand::{HostedWork, attach, begin, connect_or_start};
pub(crate) use token::{ServerToken, load_or_create};

/// The session host of a home, if one runs.
pub(crate) async fn running_host(home: &Home) -> Result<Option<HostView>, CliError> {
    Ok(claim::connect(home).await?.map(|(_client, view)| view))
}

/// How long a host that a command started keeps running without a session.
const ON_DEMAND_IDLE: Duration = Duration::from_secs(60);

/// How long the HTTP port of a host that hands over may stay in use.
const PORT_TIMEOUT: Duration = Duration::from_secs(15);

/// How often a port in use is tried again.
const PORT_POLL: Duration = Duration::from_millis(20);

/// Runs `bosun serve`.
pub(crate) async fn serve(args: ServeArgs) -> Result<CommandExit, CliError> {
    if args.openapi {
        print::output(OPENAPI.trim_end());
        return Ok(CommandExit::Success);
    }
    let setup = Setup::read()?;
    if args.status {
        return status::show(&setup.home, args.json).await;
    }
    if args.stop {
        return status::stop(&setup.home).await;
    }
    if args.on_demand {
        // Before anything that takes time: the terminal may close.
        host::machine::leave_terminal()?;
    }
    let program = host::machine::program_file()?;
    match claim::claim(&setup.home, TakeoverPolicy::of(&args), &program).await? {
        HostClaim::Claimed { lock, inherited } => run_host(setup, &args, lock, inherited, program).await,
        HostClaim::Runs(host) if args.on_demand => {
            print::json(&json!({ "pid": host.pid }));
            Ok(CommandExit::Success)
        }
        HostClaim::Runs(host) => Err(CliError::usage(format!("the session host already runs as process {}", host.pid))
            .with_hint("`bosun serve --status` shows it; `bosun serve --replace` takes over from it")),
    }
}

/// Keeps sessions until a signal or a client ends the host, or it has had nothing to do for a while.
async fn run_host(
    setup: Setup,
    args: &ServeArgs,
    lock: FileLock,
    inherited: HandOver,
    program: ProgramFile,
) -> Result<CommandExit, CliError> {
    if let Err(error) = host::limits::raise_open_files() {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
    let home = setup.home.clone();
    let mut signals = SignalListener::listen()?;
    let http = BoundHttpServer::open(&home, args, inherited).await?;
    let limits = HttpLimits::default();
    let sessions = SessionHost::resident(Arc::new(LocalSessionOpener::new(setup)), limits.sessions);
    let description = HostDescription {
        version: env!("CARGO_PKG_VERSION"),
        program,
        started_at: SystemClock.now(),
        http: http.as_ref().map(BoundHttpServer::endpoint),
    };
    let process = HostProcess::start(lock, Arc::clone(&sessions), description).await;
    let mut process = process.map_err(|error| CliError::failed(format!("the session host failed: {error}")))?;
    sessions.adopt();
    announce(http.as_ref(), args.json || args.on_demand);
    let idle_after = args.idle_after.or(args.on_demand.then_some(ON_DEMAND_IDLE)).filter(|_| http.is_none());
    let (stop_http, http_stopped) = oneshot::channel();
    let serving =
        serve_http(http, Arc::clone(&sessions), limits, async { http_stopped.await.unwrap_or(StreamEnd::Complete) });
    tokio::pin!(serving);
    let (end, served) = tokio::select! {
        end = process.run(idle_after) => (end, None),
        signal = signals.next() => (end_of_signal(signal), None),
        served = serving.as_mut() => (HostEnd::Terminated, Some(served)),
    };
    sessions.set_end(end);
    let served = match served {
        Some(served) => served,
        None => {
            // Fails if the server has ended by itself meanwhile.
            stop_http.send(stream_end(end)).ok();
            serving.await
        }
    };
    process.shut_down(end).await;
    served.map_err(|error| CliError::failed(format!("cannot serve: {error}")))?;
    Ok(CommandExit::Success)
}

/// Ctrl-C ends the sessions for the user; a process that is terminated has a successor that resumes them.
fn end_of_signal(signal: RunSignal) -> HostEnd {
    match signal {
        RunSignal::Interrupt => HostEnd::Stopped,
        RunSignal::End => HostEnd::Terminated,
    }
}

fn stream_end(end: HostEnd) -> StreamEnd {
    match end {
        HostEnd::HandedOver => StreamEnd::HandedOver,
        HostEnd::Idle | HostEnd::Stopped | HostEnd::Terminated => StreamEnd::Complete,
    }
}

/// Serves HTTP until `end` completes; without an HTTP service, only waits.
async fn serve_http(
    http: Option<BoundHttpServer>,
    sessions: Arc<SessionHost>,
    limits: HttpLimits,
    end: impl Future<Output = StreamEnd>,
) -> io::Result<()> {
    match http {
        Some(BoundHttpServer { listener, token, .. }) => listener.serve(sessions, token, limits, end).await,
        None => {
            end.await;
            Ok(())
        }
    }
}

/// An HTTP server that does not serve yet.
struct BoundHttpServer {
    listener: HttpListener,
    token: AccessToken,
    /// Where clients find the token.
    secret: String,
    token_file: Option<String>,
}

impl BoundHttpServer {
    /// Opens the server that the flags ask for, or the one that an earlier host left.
    async fn open(home: &Home, args: &ServeArgs, inherited: HandOver) -> Result<Option<BoundHttpServer>, CliError> {
        let wants_own = !args.no_http && !args.on_demand;
        let Some(HttpEndpoint { port, token, token_file }) = inherited.http.filter(|_| !args.no_http) else {
            if !wants_own {
                return Ok(None);
            }
            let port = args.port.unwrap_or(0);
            let listener = HttpListener::bind(port).await.map_err(|error| bind_failure(port, &error))?;
            return BoundHttpServer::with_own_token(home, args, listener).map(Some);
        };
        let port = args.port.unwrap_or(port);
        let listener = bind_when_free(port).await.map_err(|error| bind_failure(port, &error))?;
        if args.token_file.is_some() {
            return BoundHttpServer::with_own_token(home, args, listener).map(Some);
        }
        let access =
            AccessToken::new(&token).ok_or_else(|| CliError::failed("the token of the earlier host is invalid"))?;
        Ok(Some(BoundHttpServer { listener, token: access, secret: token, token_file }))
    }

    fn with_own_token(home: &Home, args: &ServeArgs, listener: HttpListener) -> Result<BoundHttpServer, CliError> {
        let ServerToken { token, secret, file } = load_or_create(args.token_file.as_deref())?;
        hide_token_file(home, args.token_file.as_deref())?;
        Ok(BoundHttpServer { listener, token, secret, token_file: file })
    }

    /// What the next host needs to serve the same clients.
    fn endpoint(&self) -> HttpEndpoint {
        HttpEndpoint { port: self.listener.port(), token: self.secret.clone(), token_file: self.token_file.clone() }
    }
}

/// Hides a token from agents: a reader of its file could act for the user on the server.
pub(crate) fn hide_token_file(home: &Home, file: Option<&Path>) -> Result<(), CliError> {
    let Some(file) = file else { return Ok(()) };
    config::remember_token_file(home.root(), file)
        .map_err(|error| CliError::failed(format!("cannot hide {} from agents: {error}", file.display())))
}

/// Binds a port that another process is about to release.
async fn bind_when_free(port: u16) -> io::Result<HttpListener> {
    let began = Instant::now();
    loop {
        match HttpListener::bind(port).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && began.elapsed() < PORT_TIMEOUT => {
                tokio::time::sleep(PORT_POLL).await;
            }
            bound => return bound,
        }
    }
}

/// Prints the process, the URL, and the token if it is not in a file.
fn announce(http: Option<&BoundHttpServer>, json: bool) {
    let pid = std::process::id();
    if json {
        let token = http.filter(|http| http.token_file.is_none()).map(|http| &http.secret);
        let token_file = http.and_then(|http| http.token_file.as_ref());
        let url = http.map(|http| http.listener.url());
        return print::json(&json!({ "url": url, "token": token, "tokenFile": token_file, "pid": pid }));
    }
    let Some(BoundHttpServer { listener, secret, token_file, .. }) = http else {
        return print::output(format_args!("the session host runs as process {pid}"));
    };
    let url = listener.url();
    let token = token_file.as_ref().map_or_else(|| secret.clone(), |file| format!("$(cat '{file}')"));
    print::output(format_args!("listening on {url}"));
    print::output(format_args!("curl -H \"Authorization: Bearer {token}\" {url}/v1/sessions"));
}

pub(crate) fn bind_failure(port: u16, error: &io::Error) -> CliError {
    let failure = CliError::usage(format!("cannot listen on port {port}: {error}"));
    failure.with_hint("choose another with --port, or leave it out for any free port")
}
