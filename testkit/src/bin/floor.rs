//! The floor of the fan-out bench: the requests that Bosun makes, byte for byte, and the shell commands that it runs,
//! and nothing else. A parent sends one request, its workers run in parallel, and the parent sends another.

#![expect(clippy::print_stderr, clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::fs;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;

use net::{HttpClient, HttpTimeouts, NetworkRoute, PostRequest, RequestHeader, Secret};
use tokio::process::Command;
use tokio::task::JoinSet;

const USAGE: &str = "\
usage: floor BASE_URL WORKERS COMMAND FIRST LAST CHILD...

FIRST and LAST are files with the parent's requests, CHILD... those of a worker, which runs COMMAND between two of them";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, workers, command, first, last, child @ ..] = arguments.as_slice() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let floor = Arc::new(WorkerContext::new(url, command, child));
        floor.ask(read(first)).await;
        let mut working: JoinSet<()> = (0..workers.parse().unwrap()).map(|_: usize| work(Arc::clone(&floor))).collect();
        while let Some(done) = working.join_next().await {
            done.unwrap();
        }
        floor.ask(read(last)).await;
    });
    ExitCode::SUCCESS
}

/// Context shared by all workers.
struct WorkerContext {
    client: HttpClient,
    url: String,
    command: String,
    requests: Vec<Vec<u8>>,
}

async fn work(floor: Arc<WorkerContext>) {
    let (last, before) = floor.requests.split_last().unwrap();
    for request in before {
        floor.ask(request.clone()).await;
        floor.run().await;
    }
    floor.ask(last.clone()).await;
}

impl WorkerContext {
    fn new(url: &str, command: &str, child: &[String]) -> WorkerContext {
        let client = HttpClient::new(NetworkRoute::default(), HttpTimeouts::default());
        let requests = child.iter().map(|file| read(file)).collect();
        WorkerContext { client, url: format!("{url}/v1/messages"), command: command.into(), requests }
    }

    /// Asks the model and reads its answer to the end.
    async fn ask(&self, body: Vec<u8>) {
        let headers = vec![
            RequestHeader::plain("content-type", "application/json"),
            RequestHeader::plain("anthropic-version", "2023-06-01"),
            RequestHeader::secret("x-api-key", Secret::new("sk-0123456789".to_owned())),
        ];
        let mut answer =
            self.client.post(PostRequest { url: self.url.clone(), headers, body: body.into() }).await.unwrap();
        assert!(answer.is_success(), "{answer:?}");
        while answer.chunk().await.unwrap().is_some() {}
    }

    /// Runs the command and reads its output.
    async fn run(&self) {
        let output = Command::new("sh").args(["-c", &self.command]).stdin(Stdio::null()).output().await.unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

fn read(file: &str) -> Vec<u8> {
    fs::read(file).unwrap()
}
