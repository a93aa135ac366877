//! The process: one client on standard input and output, or many on a port.

use std::io::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::args::{self, CopilotArgsError, CopilotTransport};
use super::connection;
use super::server::CopilotServer;
use crate::token::AccessToken;
use crate::{AdapterExit, SessionHost};

/// Serves clients as the command line says: the one that started this process, or those that show `token` on a port of
/// this machine.
pub async fn serve(session_host: Arc<dyn SessionHost>, args: Vec<String>, token: Option<String>) -> AdapterExit {
    match (args::read_args(&args), token) {
        (Ok(CopilotTransport::Stdio), _) => serve_on(session_host, tokio::io::stdin(), tokio::io::stdout()).await,
        (Ok(CopilotTransport::Port(port)), Some(token)) => listen(session_host, port, token).await,
        (Ok(CopilotTransport::Port(_)), None) => {
            print_line(&mut std::io::stderr(), &CopilotArgsError::NoToken.to_string());
            AdapterExit::UsageError
        }
        (Err(misuse), _) => {
            print_line(&mut std::io::stderr(), &misuse.to_string());
            AdapterExit::UsageError
        }
    }
}

/// Serves one client on a pair of byte streams. What runs when it leaves is interrupted and can be resumed.
pub async fn serve_on<R, W>(session_host: Arc<dyn SessionHost>, input: R, output: W) -> AdapterExit
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let server = Arc::new(CopilotServer::new(session_host, None));
    connection::serve_client(Arc::clone(&server), input, output).await;
    server.shut_down().await;
    AdapterExit::Success
}

/// How many clients may be there at once; more wait to be let in.
const MAX_VISITS: usize = 64;

/// How long the machine is left alone after it could not accept a client.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves everybody who connects. Sessions run on when their clients leave.
async fn listen(session_host: Arc<dyn SessionHost>, port: u16, token: String) -> AdapterExit {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let (listener, port) = match bound.and_then(|listener| Ok((listener.local_addr()?.port(), listener))) {
        Ok((port, listener)) => (listener, port),
        Err(error) => {
            print_line(&mut std::io::stderr(), &format!("cannot listen on port {port} of this machine: {error}"));
            return AdapterExit::Failed;
        }
    };
    print_line(&mut std::io::stdout(), &format!("CLI server listening on port {port}"));
    let server = Arc::new(CopilotServer::new(session_host, Some(AccessToken::from_any(&token))));
    let mut visits = JoinSet::new();
    loop {
        tokio::select! {
            () = server.closed() => break,
            Some(_) = visits.join_next() => {}
            accepted = listener.accept(), if visits.len() < MAX_VISITS => match accepted {
                Ok((stream, _)) => {
                    let (input, output) = stream.into_split();
                    visits.spawn(connection::serve_client(Arc::clone(&server), input, output));
                }
                // Too many open files, say: it passes when a client leaves.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    while visits.join_next().await.is_some() {}
    server.shut_down().await;
    AdapterExit::Success
}

/// Says one line. Nobody may be there to read it, and that is not a reason to stop.
fn print_line(to: &mut impl Write, line: &str) {
    writeln!(to, "{line}").and_then(|()| to.flush()).ok();
}
