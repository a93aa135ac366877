//! Figures with a provider: the test kit's model server in a separate process, on loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::server::BenchServer;
use super::{BenchFolder, RUNS};
use crate::measure::{measure, table};

/// Each wire format, with a model that uses it.
const WIRES: [(&str, &str); 3] = [
    ("Anthropic Messages", "anthropic/test-model"),
    ("OpenAI Responses", "openai/test-model"),
    ("Chat Completions", "openai-chat/test-model"),
];

/// Measures and prints.
pub(super) fn bench(ground: &BenchFolder) -> Result<()> {
    let mut rows = Vec::new();
    for (latency, label) in [("0ms", "answers at once"), ("50ms", "answers after 50 ms")] {
        let server = BenchServer::start(&ground.folder.join("one-turn.yaml"), latency, &[])?;
        for (name, model) in WIRES {
            let (folder, env) = (ground.folder(), variables(&server.url));
            let command = [&ground.binary, "-p", "go", "--quiet", "-C", &folder, "--model", model];
            let figures = measure(&command, &ground.home(), &env, RUNS)?;
            rows.push((format!("one turn over {name}, server {label}"), figures));
        }
    }
    let rows: Vec<_> = rows.iter().map(|(name, figures)| (name.as_str(), *figures)).collect();
    println!("With a provider on loopback, medians of {RUNS} runs:\n\n{}", table(&rows));
    for (name, model) in WIRES {
        println!("The first request over {name} has {} bytes.", first_request(ground, model)?);
    }
    println!();
    Ok(())
}

pub(super) fn variables(url: &str) -> Vec<(&'static str, String)> {
    let key = || "sk-0123456789".to_owned();
    vec![
        ("ANTHROPIC_API_KEY", key()),
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("OPENAI_API_KEY", key()),
        ("OPENAI_BASE_URL", format!("{url}/v1")),
    ]
}

/// The size of a run's first request body, in bytes.
pub(super) fn first_request(ground: &BenchFolder, model: &str) -> Result<usize> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen")?;
    let url = format!("http://{}", listener.local_addr().context("no address")?);
    let mut process = Command::new(&ground.binary)
        .args(["-p", "go", "--quiet", "-C", &ground.folder(), "--model", model])
        .env("BOSUN_HOME", ground.home())
        .envs(variables(&url))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start the binary")?;
    let (stream, _) = listener.accept().context("no request came")?;
    let mut reader = BufReader::new(&stream);
    let length = content_length(&mut reader)?;
    reader.read_exact(&mut vec![0; length]).context("the request was cut")?;
    (&stream).write_all(b"HTTP/1.1 400 No\r\ncontent-length: 0\r\n\r\n").context("cannot answer")?;
    process.wait().context("cannot wait for the binary")?;
    Ok(length)
}

fn content_length(reader: &mut impl BufRead) -> Result<usize> {
    let mut length = None;
    for line in reader.lines() {
        let line = line.context("the request was cut")?.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok();
        }
        if line.is_empty() {
            return length.context("the request has no length");
        }
    }
    bail!("the request has no end")
}
