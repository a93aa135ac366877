//! Starts the session host for a command that needs it.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use client::HostClient;
use host::Home;
use host::sibling::{ResidentProcess, act_as_user};
use protocol::api::{BeginFleetParams, HostView, RefusalKind, ReopenSessionParams, SessionView, calls};
use protocol::{SessionId, SessionOptions};
use rpc::CallError;
use runtime::SessionStart;

use super::claim;
use crate::error::CliError;

/// How often a host that ends just when it is needed is started again.
const START_TRIES: usize = 5;

/// The most that is shown of what a host reported before it ended.
const MAX_REPORT_BYTES: u64 = 2000;

/// Connects to the session host. Starts it if there is none, and replaces it if it runs an older program.
pub(crate) async fn connect_or_start(home: &Home) -> Result<(HostClient, HostView), CliError> {
    let program = host::machine::program_file()?;
    for _ in 0..START_TRIES {
        match claim::connect(home).await? {
            Some((client, view)) if !claim::is_outdated(&view, &program) => return Ok((client, view)),
            Some(_outdated) => {}
            None => {}
        }
        start(home).await?;
    }
    Err(CliError::failed("the session host ends as soon as it is started")
        .with_hint(format!("see {}", log_file(home).display())))
}

/// What begins in the session host.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HostedWork<'a> {
    /// A session that is begun, resumed or forked with these options.
    Session(SessionStart, &'a SessionOptions),
    /// A session with a fleet.
    Fleet(&'a BeginFleetParams),
    /// A session that is kept for as long as the connection to the host exists.
    Attached(SessionId),
}

/// Begins work in the session host, which is started if there is none.
pub(crate) async fn begin(home: &Home, work: HostedWork<'_>) -> Result<SessionView, CliError> {
    call_running_host(home, work).await.map(|(_client, view)| view)
}

/// Has the session host keep a session, which it resumes, for as long as the returned connection exists.
pub(crate) async fn attach(home: &Home, session: SessionId) -> Result<(HostClient, SessionView), CliError> {
    call_running_host(home, HostedWork::Attached(session)).await
}

/// Calls the session host, which is started if there is none.
async fn call_running_host(home: &Home, work: HostedWork<'_>) -> Result<(HostClient, SessionView), CliError> {
    for _ in 0..START_TRIES {
        let (client, _host) = connect_or_start(home).await?;
        match call_host(&client, work).await {
            Ok(view) => return Ok((client, view)),
            // It ends because it had nothing to do; the next one has.
            Err(CallError::Refused(refused)) if refused.refusal_kind() == Some(RefusalKind::Closed) => {}
            Err(CallError::Refused(refused)) => return Err(refused.into()),
            Err(error) => {
                return Err(CliError::failed(format!("the session host ended before it answered: {error}"))
                    .with_hint("`bosun sessions` shows whether the session was started"));
            }
        }
    }
    Err(CliError::failed("the session host accepts no sessions").with_hint("`bosun serve --status` shows it"))
}

async fn call_host(client: &HostClient, work: HostedWork<'_>) -> Result<SessionView, CallError> {
    let reopened = |session, options: &SessionOptions| ReopenSessionParams { session, options: options.clone() };
    match work {
        HostedWork::Session(SessionStart::New, options) => client.call::<calls::SessionsBegin>(options).await,
        HostedWork::Session(SessionStart::Resume(id), options) => {
            client.call::<calls::SessionsResume>(&reopened(id, options)).await
        }
        HostedWork::Session(SessionStart::Fork(id), options) => {
            client.call::<calls::SessionsFork>(&reopened(id, options)).await
        }
        HostedWork::Fleet(fleet) => client.call::<calls::FleetsBegin>(fleet).await,
        HostedWork::Attached(id) => client.call::<calls::HostAttach>(&reopened(id, &SessionOptions::default())).await,
    }
}

/// Starts a host and waits until one answers. If two commands start one at the same time, one of them ends again.
async fn start(home: &Home) -> Result<(), CliError> {
    let failed = |error: io::Error| CliError::failed(format!("cannot start the session host: {error}"));
    act_as_user().map_err(failed)?;
    let path = log_file(home);
    let mut log = OpenOptions::new().create(true).append(true).read(true).mode(0o600).open(&path).map_err(failed)?;
    let begins_at = log.seek(SeekFrom::End(0)).map_err(failed)?;
    let output = log.try_clone().map_err(failed)?;
    let process = ResidentProcess::start(&["serve", "--on-demand"], ("BOSUN_HOME", home.root()), home.root(), output);
    let process = process.map_err(failed)?;
    let waiting = tokio::task::spawn_blocking(move || process.first_line());
    match waiting.await.unwrap_or_else(|ended| Err(io::Error::other(ended))).map_err(failed)? {
        Some(_announcement) => Ok(()),
        None => Err(CliError::failed(format!("the session host did not start: {}", report(&path, begins_at)))
            .with_hint("run `bosun serve --no-http` to see why")),
    }
}

/// What the process wrote to the log.
fn report(path: &Path, begins_at: u64) -> String {
    let read = || -> io::Result<String> {
        let mut log = std::fs::File::open(path)?;
        log.seek(SeekFrom::Start(begins_at))?;
        let mut text = String::new();
        log.take(MAX_REPORT_BYTES).read_to_string(&mut text)?;
        Ok(text.trim().to_owned())
    };
    read().unwrap_or_default()
}

fn log_file(home: &Home) -> std::path::PathBuf {
    home.root().join("logs").join("host.log")
}
