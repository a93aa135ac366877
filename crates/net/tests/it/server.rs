//! A scripted server that handles one connection after the other.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bosun_net::{HttpClient, HttpTimeouts, NetworkRoute, PostRequest};
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// What a server does after it has read a request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends this.
    Send(String),
    /// Does nothing more, and keeps the connection.
    Hang,
}

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    _running: JoinSet<()>,
}

impl Server {
    /// Answers each connection with the same acts, and closes it after them.
    pub(crate) async fn start(acts: &[Act]) -> Server {
        Server::with(acts, None).await
    }

    /// Speaks TLS if `tls` is given.
    pub(crate) async fn with(acts: &[Act], tls: Option<TlsAcceptor>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, acts) = (Arc::clone(&requests), acts.to_vec());
        let mut running = JoinSet::new();
        running.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, acts, tls) = (Arc::clone(&seen), acts.clone(), tls.clone());
                connections.spawn(async move {
                    match tls {
                        None => serve(stream, &acts, &seen).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, &acts, &seen).await;
                            }
                        }
                    }
                });
            }
        });
        Server { address, requests, _running: running }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1/x", self.address)
    }

    /// The requests it got, from their first line to the end of their body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, acts: &[Act], seen: &Mutex<Vec<String>>) {
    let request = read(&mut stream).await;
    seen.lock().unwrap().push(request);
    for act in acts {
        match act {
            Act::Send(text) => {
                stream.write_all(text.as_bytes()).await.unwrap();
                stream.flush().await.unwrap();
            }
            Act::Hang => std::future::pending().await,
        }
    }
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        if stream.read_buf(&mut request).await.unwrap() == 0 {
            return text;
        }
    }
}

pub(crate) fn send(text: &str) -> Act {
    Act::Send(text.into())
}

/// A whole answer of one body.
pub(crate) fn ok(body: &str) -> Act {
    Act::Send(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()))
}

/// A client without proxies.
pub(crate) fn client(patience: HttpTimeouts) -> HttpClient {
    HttpClient::new(NetworkRoute::default(), patience)
}

/// A request with a small body.
pub(crate) fn post(url: impl Into<String>) -> PostRequest {
    PostRequest { url: url.into(), headers: Vec::new(), body: Bytes::from_static(b"{}") }
}
