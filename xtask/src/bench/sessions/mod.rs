//! What a server keeps of its sessions: 200 one after another and 200 at once, on a port of the Copilot adapter, and 200
//! one after another over HTTP. The memory and handles of the server after each 50.

mod client;
mod handles;

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use self::client::CopilotPort;
use self::handles::ProcessHandles;
use super::BenchFolder;
use super::watchers::ServeProcess;

/// Number of sessions.
const SESSIONS: usize = 200;

/// How many sessions lie between two figures.
const STEP: usize = 50;

/// Clients that have the sessions that are open at once.
const CLIENTS: usize = 20;

/// Measures and prints.
pub(super) fn bench(ground: &BenchFolder) -> Result<()> {
    println!("| sessions | memory | open files | of these sockets | threads | processes |");
    println!("|---|---:|---:|---:|---:|---:|");
    one_after_another(ground)?;
    at_once(ground)?;
    over_http(ground)
}

fn row(what: &str, pid: u32) -> Result<()> {
    let ProcessHandles { kib, files, sockets, threads, processes } = ProcessHandles::of(pid)?;
    let mebibytes = kib as f64 / 1024.0;
    println!("| {what} | {mebibytes:.1} MiB | {files} | {sockets} | {threads} | {processes} |");
    Ok(())
}

/// Each session is created, answers, and is closed; every second one is deleted too.
fn one_after_another(ground: &BenchFolder) -> Result<()> {
    let port = CopilotPort::start(&ground.binary, &ground.home(), &ground.folder)?;
    let mut client = port.connect()?;
    row("one after another: none yet", port.pid())?;
    for number in 1..=SESSIONS {
        let session = client.create(number)?;
        client.turn(&session)?;
        client.call("session.destroy", json!({ "sessionId": session }))?;
        if number.is_multiple_of(2) {
            client.call("session.delete", json!({ "sessionId": session }))?;
        }
        if number.is_multiple_of(STEP) {
            row(&format!("one after another: {number}, closed"), port.pid())?;
        }
    }
    drop(client);
    port.wait_for_clients(0)?;
    row("one after another: without its client", port.pid())
}

/// The sessions are open at the same time, twice.
fn at_once(ground: &BenchFolder) -> Result<()> {
    let port = CopilotPort::start(&ground.binary, &ground.home(), &ground.folder)?;
    row("at once: none yet", port.pid())?;
    for round in ["first", "second"] {
        let mut clients: Vec<_> = (0..CLIENTS).map(|_| port.connect()).collect::<Result<_>>()?;
        let mut open: Vec<(usize, String)> = Vec::new();
        for number in 1..=SESSIONS {
            let at = number % CLIENTS;
            let session = clients[at].create(number)?;
            clients[at].send(&session)?;
            open.push((at, session));
            if number.is_multiple_of(STEP) {
                for (at, session) in &open[number - STEP..] {
                    clients[*at].wait_until_idle(session)?;
                }
                row(&format!("at once, {round} round: {number} open"), port.pid())?;
            }
        }
        for (at, session) in open {
            clients[at].call("session.destroy", json!({ "sessionId": session }))?;
        }
        drop(clients);
        port.wait_for_clients(0)?;
        row(&format!("at once, {round} round: all closed"), port.pid())?;
    }
    Ok(())
}

/// Each session begins with a prompt, and is stopped when it is idle; every second one is removed too.
fn over_http(ground: &BenchFolder) -> Result<()> {
    let server = ServeProcess::start(ground)?;
    row("over HTTP: none yet", server.pid())?;
    let begin = json!({
        "cwd": ground.folder(), "model": "script/one-turn.yaml", "permission": "allowAll", "prompt": "go",
    });
    for number in 1..=SESSIONS {
        let begun = server.call("POST", "/v1/sessions", &begin)?;
        let session = begun["id"].as_str().context("no session")?;
        let path = format!("/v1/sessions/{session}");
        server.call("GET", &format!("{path}/wait"), &Value::Null)?;
        server.call("POST", &format!("{path}/stop"), &Value::Null)?;
        if number.is_multiple_of(2) {
            server.call("DELETE", &path, &Value::Null)?;
        }
        if number.is_multiple_of(STEP) {
            row(&format!("over HTTP: {number}"), server.pid())?;
        }
    }
    println!();
    Ok(())
}

/// A file's path as text.
fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path is not text")
}
