//! The address on this machine that the browser is sent back to after a login.

use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

/// Maximum bytes of a request.
const MAX_REQUEST_BYTES: usize = 16 * 1024;

/// How long a connection may take to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The most connections at once.
const MAX_CONNECTIONS: usize = 32;

/// The path that the browser is sent to.
const PATH: &str = "/callback";

/// Listens on loopback until a browser comes back from a login.
pub struct LoginCallback {
    listener: TcpListener,
    port: u16,
}

impl LoginCallback {
    /// Listens at this port, or at any free one.
    pub async fn listen(port: Option<u16>) -> io::Result<LoginCallback> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
        let port = listener.local_addr()?.port();
        Ok(LoginCallback { listener, port })
    }

    /// Its address.
    pub fn uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the browser; returns the address that it was sent to. Anything but an answer to the login with this
    /// `state` is refused, since any program and any page may connect.
    pub async fn wait(&self, state: &str) -> io::Result<String> {
        // Browsers also open connections that they do not use.
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    let (stream, _peer) = accepted?;
                    if connections.len() < MAX_CONNECTIONS {
                        connections.spawn(serve(stream, self.port, state.to_owned()));
                    }
                }
                Some(served) = connections.join_next() => {
                    if let Ok(Some(answer)) = served {
                        return Ok(answer);
                    }
                }
            }
        }
    }
}

/// Answers one request; returns its whole address if it answers the login.
async fn serve(mut stream: TcpStream, port: u16, state: String) -> Option<String> {
    let target = timeout(REQUEST_TIMEOUT, read_target(&mut stream)).await.ok().flatten();
    let answer = target.and_then(|target| login_answer(&target, port, &state));
    let reply = match &answer {
        Some(_) => reply("200 OK", "You can close this page and return to the terminal."),
        None => reply("404 Not Found", "There is nothing here."),
    };
    // The browser may be gone already.
    let _sent = timeout(REQUEST_TIMEOUT, stream.write_all(reply.as_bytes())).await;
    let _closed = stream.shutdown().await;
    answer
}

/// The whole address of a request, if it answers the login.
fn login_answer(target: &str, port: u16, state: &str) -> Option<String> {
    let url = Url::parse(&format!("http://127.0.0.1:{port}")).ok()?.join(target).ok()?;
    let is_answer = url.path() == PATH
        && url.host_str() == Some("127.0.0.1")
        && url.port_or_known_default() == Some(port)
        && url.query_pairs().any(|(name, value)| name == "state" && value == state);
    is_answer.then(|| url.into())
}

impl fmt::Debug for LoginCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.uri())
    }
}

/// The target of a GET request.
async fn read_target(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MAX_REQUEST_BYTES {
        match stream.read(&mut buffer).await {
            Ok(count) if count > 0 => request.extend_from_slice(&buffer[..count]),
            Ok(_) | Err(_) => break,
        }
    }
    let text = String::from_utf8_lossy(&request);
    let mut words = text.lines().next()?.split(' ');
    (words.next()? == "GET").then(|| words.next().map(str::to_owned)).flatten().filter(|target| target.starts_with('/'))
}

fn reply(status: &str, text: &str) -> String {
    let page = format!("<!doctype html><title>Bosun</title><p>{text}</p>");
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         referrer-policy: no-referrer\r\nconnection: close\r\n\r\n{page}",
        page.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(port: u16, request: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        reply
    }

    #[tokio::test]
    async fn only_the_answer_to_the_login_ends_the_wait() {
        let callback = LoginCallback::listen(None).await.unwrap();
        let port = callback.port;
        let browser = async {
            for request in [
                "GET /favicon.ico HTTP/1.1\r\n\r\n",
                "GET /callback?code=x&state=other HTTP/1.1\r\n\r\n",
                "POST /callback?code=x&state=s HTTP/1.1\r\n\r\n",
                "GET http://evil.example/callback?code=x&state=s HTTP/1.1\r\n\r\n",
                "GET //evil.example/callback?code=x&state=s HTTP/1.1\r\n\r\n",
                "nonsense\r\n\r\n",
            ] {
                assert!(get(port, request).await.starts_with("HTTP/1.1 404"), "{request}");
            }
            get(port, "GET /callback?code=x&state=s HTTP/1.1\r\nhost: me\r\n\r\n").await
        };
        let (answer, page) = tokio::join!(callback.wait("s"), browser);
        assert_eq!(answer.unwrap(), format!("{}?code=x&state=s", callback.uri()));
        assert!(page.starts_with("HTTP/1.1 200") && page.contains("return to the terminal"), "{page}");
    }
}
