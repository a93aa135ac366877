//! The cost of watchers: the same scripted session over HTTP with no, some and many watchers of its events that read
//! everything, and with as many that read nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::BenchFolder;
use crate::measure::median;

/// Numbers of watchers.
const WATCHERS: [usize; 3] = [0, 32, 120];

/// Number of runs of each.
const RUNS: usize = 7;

/// Timeout of a run.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often the state of a run is polled.
const LOOK: Duration = Duration::from_millis(20);

/// The wall time of one run, and the server's CPU time.
type WatchersRun = (Duration, Duration);

/// Measures and prints.
pub(super) fn bench(ground: &BenchFolder) -> Result<()> {
    println!("A session of 500 turns with watchers over HTTP:\n");
    println!("| watchers | wall | CPU of the server | with watchers that read nothing: wall | CPU |");
    println!("|---:|---:|---:|---:|---:|");
    let mut all = WATCHERS.map(|watchers| (watchers, Vec::new(), Vec::new()));
    // Alternately, so that changes of load on the machine affect all equally.
    for _ in 0..RUNS {
        for (watchers, reading, silent) in &mut all {
            reading.push(once(ground, *watchers, true)?);
            silent.push(once(ground, *watchers, false)?);
        }
    }
    for (watchers, reading, silent) in all {
        let (reading, silent) = (middle(&reading)?, middle(&silent)?);
        println!(
            "| {watchers} | {:.2} s | {:.2} s | {:.2} s | {:.2} s |",
            reading.0.as_secs_f64(),
            reading.1.as_secs_f64(),
            silent.0.as_secs_f64(),
            silent.1.as_secs_f64()
        );
    }
    println!();
    Ok(())
}

/// The medians of wall and CPU time, separately.
fn middle(runs: &[WatchersRun]) -> Result<WatchersRun> {
    let wall = median(runs.iter().map(|run| run.0)).context("no runs")?;
    Ok((wall, median(runs.iter().map(|run| run.1)).context("no runs")?))
}

fn once(ground: &BenchFolder, watchers: usize, is_read: bool) -> Result<WatchersRun> {
    let server = ServeProcess::start(ground)?;
    let begin = json!({ "cwd": ground.folder(), "model": "script/long.yaml", "permission": "allowAll" });
    let session = server.call("POST", "/v1/sessions", &begin)?["id"].as_str().context("no session")?.to_owned();
    let path = format!("/v1/sessions/{session}");
    let mut streams = Vec::new();
    for _ in 0..watchers {
        let mut stream = server.ask("GET", &format!("{path}/events"), "")?;
        let mut first = [0];
        stream.read_exact(&mut first).context("a watcher is not answered")?;
        streams.push(stream);
    }
    let before = server.cpu()?;
    let start = Instant::now();
    server.call("POST", &format!("{path}/messages"), &json!({ "text": "go" }))?;
    // Unread streams are held until the server has ended.
    let (readers, held) = if is_read { (streams, Vec::new()) } else { (Vec::new(), streams) };
    let readers: Vec<_> = readers.into_iter().map(|stream| std::thread::spawn(move || drain(stream))).collect();
    loop {
        let view = server.call("GET", &path, &Value::Null)?;
        if view["state"]["type"] == "idle" && view["turns"].as_u64().unwrap_or_default() > 500 {
            break;
        }
        ensure!(start.elapsed() < PATIENCE, "the run does not end: {view}");
        std::thread::sleep(LOOK);
    }
    let figures = (start.elapsed(), server.cpu()?.saturating_sub(before));
    drop((server, held));
    for reader in readers {
        // A stream ends with its server.
        let _ended = reader.join();
    }
    Ok(figures)
}

/// Reads a stream to its end.
fn drain(mut stream: TcpStream) {
    let mut buffer = [0; 64 * 1024];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
}

/// `bosun serve`, stopped when dropped.
pub(super) struct ServeProcess {
    process: Child,
    address: String,
    token: String,
}

impl ServeProcess {
    pub(super) fn start(ground: &BenchFolder) -> Result<ServeProcess> {
        let mut process = Command::new(&ground.binary)
            .args(["serve", "--json"])
            .current_dir(&ground.folder)
            .env("BOSUN_HOME", ground.home())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let stdout = process.stdout.take().context("the server has no output")?;
        let mut text = String::new();
        let mut lines = BufReader::new(stdout);
        let output = loop {
            ensure!(lines.read_line(&mut text)? > 0, "the server printed no JSON: {text}");
            if let Ok(output) = serde_json::from_str::<Value>(&text) {
                break output;
            }
        };
        let field = |name: &str| output[name].as_str().map(str::to_owned);
        let url = field("url").context("no address")?;
        let address = url.strip_prefix("http://").context("no address")?.to_owned();
        Ok(ServeProcess { process, address, token: field("token").context("no token")? })
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a request; returns the stream with the answer.
    fn ask(&self, verb: &str, path: &str, body: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).context("cannot connect")?;
        let (address, token, length) = (&self.address, &self.token, body.len());
        let head = format!("{verb} {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n");
        let kind = "Content-Type: application/json";
        write!(stream, "{head}{kind}\r\nContent-Length: {length}\r\n\r\n{body}").context("cannot ask")?;
        Ok(stream)
    }

    pub(super) fn call(&self, verb: &str, path: &str, body: &Value) -> Result<Value> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut answer = String::new();
        self.ask(verb, path, &body)?.read_to_string(&mut answer).context("no answer")?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        ensure!(head.split(' ').nth(1).is_some_and(|status| status.starts_with('2')), "{verb} {path}: {answer}");
        Ok(serde_json::from_str(body).unwrap_or_default())
    }

    /// The CPU time it has used.
    fn cpu(&self) -> Result<Duration> {
        super::server::cpu_of(self.process.id())
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _gone = self.process.kill().and_then(|()| self.process.wait());
    }
}
