//! A port of the Copilot adapter, and a minimal client of it.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::handles::ProcessHandles;
use super::text;

/// The token of all clients.
const TOKEN: &str = "a-token-of-the-bench";

/// Timeout of an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often the sockets of the server are counted.
const LOOK: Duration = Duration::from_millis(10);

/// The adapter on a port, stopped when dropped.
pub(super) struct CopilotPort {
    process: Child,
    address: String,
    /// Its sockets without clients.
    sockets: usize,
}

impl CopilotPort {
    pub(super) fn start(binary: &str, home: &Path, folder: &Path) -> Result<CopilotPort> {
        let model = format!("script/{}", text(&folder.join("one-turn.yaml"))?);
        let mut process = Command::new(binary)
            .args(["sdk", "serve", "copilot", "--", "--headless", "--no-auto-update"])
            .current_dir(folder)
            .env("BOSUN_HOME", home)
            .env("BOSUN_MODEL", model)
            .env("COPILOT_CONNECTION_TOKEN", TOKEN)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the adapter")?;
        let stdout = process.stdout.take().context("the adapter has no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("cannot read from the adapter")?;
        let port = line.trim().rsplit(' ').next().context("the adapter named no port")?;
        let address = format!("127.0.0.1:{port}");
        let sockets = ProcessHandles::of(process.id())?.sockets;
        Ok(CopilotPort { process, address, sockets })
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(super) fn connect(&self) -> Result<CopilotClient> {
        let stream = TcpStream::connect(&self.address).context("cannot connect")?;
        stream.set_read_timeout(Some(PATIENCE)).context("cannot set a timeout")?;
        let output = stream.try_clone().context("cannot use the connection")?;
        let mut client = CopilotClient { input: BufReader::new(stream), output, next: 0, idle: HashSet::new() };
        client.call("connect", json!({ "token": TOKEN }))?;
        Ok(client)
    }

    /// Waits until the server has this many connections.
    pub(super) fn wait_for_clients(&self, clients: usize) -> Result<()> {
        let start = Instant::now();
        while ProcessHandles::of(self.pid())?.sockets > self.sockets + clients {
            ensure!(start.elapsed() < PATIENCE, "the server keeps connections of clients that have left");
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for CopilotPort {
    fn drop(&mut self) {
        // It may have ended already.
        let _gone = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// A client of the adapter.
pub(super) struct CopilotClient {
    input: BufReader<TcpStream>,
    output: TcpStream,
    next: u64,
    /// The sessions that have become idle.
    idle: HashSet<String>,
}

impl CopilotClient {
    /// Creates a session; returns its name.
    pub(super) fn create(&mut self, number: usize) -> Result<String> {
        let created = self.call("session.create", json!({ "clientName": format!("bench-{number}") }))?;
        Ok(created["sessionId"].as_str().context("a session without a name")?.to_owned())
    }

    /// Sends a message.
    pub(super) fn send(&mut self, session: &str) -> Result<()> {
        self.call("session.send", json!({ "sessionId": session, "prompt": "go" })).map(drop)
    }

    /// Sends a message and waits until the session is idle.
    pub(super) fn turn(&mut self, session: &str) -> Result<()> {
        self.send(session)?;
        self.wait_until_idle(session)
    }

    pub(super) fn wait_until_idle(&mut self, session: &str) -> Result<()> {
        while !self.idle.remove(session) {
            let message = self.read()?;
            self.observe(&message);
        }
        Ok(())
    }

    pub(super) fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.next;
        self.next += 1;
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        write!(self.output, "Content-Length: {}\r\n\r\n{call}", call.len()).context("cannot call")?;
        loop {
            let message = self.read()?;
            if message["id"] == id && message["method"].is_null() {
                ensure!(message["error"].is_null(), "{method}: {}", message["error"]);
                return Ok(message["result"].clone());
            }
            self.observe(&message);
        }
    }

    fn observe(&mut self, message: &Value) {
        let params = &message["params"];
        if let (true, Some(session)) = (params["event"]["type"] == "session.idle", params["sessionId"].as_str()) {
            self.idle.insert(session.to_owned());
        }
    }

    fn read(&mut self) -> Result<Value> {
        let mut header = String::new();
        if self.input.read_line(&mut header).context("the adapter does not answer")? == 0 {
            bail!("the adapter has closed the connection");
        }
        let length = header.trim().strip_prefix("Content-Length: ").context("a message without a length")?;
        let mut body = vec![0; length.parse::<usize>().context("a length that is no number")? + 2];
        self.input.read_exact(&mut body).context("half a message")?;
        serde_json::from_slice(&body[2..]).context("a message that is no JSON")
    }
}
