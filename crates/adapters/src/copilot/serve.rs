//! Serves one client on standard input and output, or many on a port.

use std::io::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::args::{self, CopilotArgs, CopilotArgsError, CopilotTransport};
use super::connection;
use super::server::CopilotServer;
use crate::token::AccessToken;
use server::{SessionHost, SessionOpener};

use crate::AdapterExit;

/// The SDKs know no limit of sessions.
const MAX_SESSIONS: usize = usize::MAX;

/// Serves clients according to the command line: the one that started this process, or those that send `token` on a
/// local port.
pub async fn serve(opener: Arc<dyn SessionOpener>, args: Vec<String>, token: Option<String>) -> AdapterExit {
    let CopilotArgs { transport, approval, without_effect } = match args::read_args(&args) {
        Ok(args) => args,
        Err(error) => return usage_error(&error),
    };
    let sessions = SessionHost::new(opener, MAX_SESSIONS);
    match (transport, token) {
        (CopilotTransport::Stdio, _) => {
            let server = CopilotServer::new(sessions, None, without_effect).with_approval(approval);
            serve_one(Arc::new(server), tokio::io::stdin(), tokio::io::stdout()).await
        }
        (CopilotTransport::Port(port), Some(token)) => {
            let token = Some(AccessToken::from_text(&token));
            let server = CopilotServer::new(sessions, token, without_effect).with_approval(approval);
            listen(Arc::new(server), port).await
        }
        (CopilotTransport::Port(_), None) => usage_error(&CopilotArgsError::NoToken),
    }
}

fn usage_error(error: &CopilotArgsError) -> AdapterExit {
    print_line(&mut std::io::stderr(), &error.to_string());
    AdapterExit::UsageError
}

/// Serves one client on a pair of byte streams. Work that runs when it leaves is interrupted and can be resumed.
pub async fn serve_on<R, W>(opener: Arc<dyn SessionOpener>, input: R, output: W) -> AdapterExit
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let sessions = SessionHost::new(opener, MAX_SESSIONS);
    serve_one(Arc::new(CopilotServer::new(sessions, None, Vec::new())), input, output).await
}

async fn serve_one<R, W>(server: Arc<CopilotServer>, input: R, output: W) -> AdapterExit
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    connection::serve_client(Arc::clone(&server), input, output).await;
    server.shut_down().await;
    AdapterExit::Success
}

/// How many clients may be connected at once; more must wait.
const MAX_CLIENTS: usize = 64;

/// Pause after accepting a client failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves all clients that connect. Sessions keep running when their clients leave.
async fn listen(server: Arc<CopilotServer>, port: u16) -> AdapterExit {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let (listener, port) = match bound.and_then(|listener| Ok((listener.local_addr()?.port(), listener))) {
        Ok((port, listener)) => (listener, port),
        Err(error) => {
            print_line(&mut std::io::stderr(), &format!("cannot listen on local port {port}: {error}"));
            return AdapterExit::Failed;
        }
    };
    print_line(&mut std::io::stdout(), &format!("CLI server listening on port {port}"));
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            () = server.close_requested() => break,
            Some(_) = clients.join_next() => {}
            accepted = listener.accept(), if clients.len() < MAX_CLIENTS => match accepted {
                Ok((stream, _)) => {
                    let (input, output) = stream.into_split();
                    clients.spawn(connection::serve_client(Arc::clone(&server), input, output));
                }
                // For example too many open files: that passes when a client leaves.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    while clients.join_next().await.is_some() {}
    server.shut_down().await;
    AdapterExit::Success
}

/// Prints one line. A failure is ignored: there may be no reader.
fn print_line(to: &mut impl Write, line: &str) {
    writeln!(to, "{line}").and_then(|()| to.flush()).ok();
}
