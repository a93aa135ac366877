//! The process: one client on standard input and output, or many on a port.

use std::io::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::args::{self, Misuse, Way};
use super::server::Server;
use super::visit;
use crate::token::Token;
use crate::{Ended, House};

/// Serves clients as the command line says: the one that started this process, or those that show `token` on a port of
/// this machine.
pub async fn serve(house: Arc<dyn House>, args: Vec<String>, token: Option<String>) -> Ended {
    match (args::read(&args), token) {
        (Ok(Way::Stdio), _) => serve_on(house, tokio::io::stdin(), tokio::io::stdout()).await,
        (Ok(Way::Port(port)), Some(token)) => listen(house, port, token).await,
        (Ok(Way::Port(_)), None) => {
            say(&mut std::io::stderr(), &Misuse::NoToken.to_string());
            Ended::Usage
        }
        (Err(misuse), _) => {
            say(&mut std::io::stderr(), &misuse.to_string());
            Ended::Usage
        }
    }
}

/// Serves one client on a pair of byte streams. What runs when it leaves is interrupted and can be resumed.
pub async fn serve_on<R, W>(house: Arc<dyn House>, input: R, output: W) -> Ended
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let server = Arc::new(Server::new(house, None));
    visit::receive(Arc::clone(&server), input, output).await;
    server.leave().await;
    Ended::Well
}

/// How many clients may be there at once; more wait to be let in.
const MAX_VISITS: usize = 64;

/// How long the machine is left alone after it could not accept a client.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves everybody who connects. Sessions run on when their clients leave.
async fn listen(house: Arc<dyn House>, port: u16, token: String) -> Ended {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let (listener, port) = match bound.and_then(|listener| Ok((listener.local_addr()?.port(), listener))) {
        Ok((port, listener)) => (listener, port),
        Err(error) => {
            say(&mut std::io::stderr(), &format!("cannot listen on port {port} of this machine: {error}"));
            return Ended::Failed;
        }
    };
    say(&mut std::io::stdout(), &format!("CLI server listening on port {port}"));
    let server = Arc::new(Server::new(house, Some(Token::chosen(&token))));
    let mut visits = JoinSet::new();
    loop {
        tokio::select! {
            () = server.closed() => break,
            Some(_) = visits.join_next() => {}
            accepted = listener.accept(), if visits.len() < MAX_VISITS => match accepted {
                Ok((stream, _)) => {
                    let (input, output) = stream.into_split();
                    visits.spawn(visit::receive(Arc::clone(&server), input, output));
                }
                // Too many open files, say: it passes when a client leaves.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    while visits.join_next().await.is_some() {}
    server.leave().await;
    Ended::Well
}

/// Says one line. Nobody may be there to read it, and that is no reason to stop.
fn say(to: &mut impl Write, line: &str) {
    writeln!(to, "{line}").and_then(|()| to.flush()).ok();
}
