//! A page of another origin in a real browser: it knows the address and the token, but can do nothing.

#![expect(clippy::disallowed_methods, reason = "tests start the browser directly")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::binary::PATIENCE;

use super::{HELD, await_held, hold, release, serve};
use crate::fixture;

/// The page, which reports the outcome of each of its attempts.
const PAGE: &str = include_str!("page.html");

#[test]
fn page_of_another_origin_can_read_and_do_nothing() {
    for (attempt, outcome) in visited(&[]) {
        assert!(matches!(outcome.as_str(), Some("blocked" | "opaque")), "{attempt}: {outcome}");
    }
}

/// A browser without web security still sends the origin of a page.
#[test]
fn server_refuses_cross_origin_requests_by_itself() {
    let attempts = visited(&["--disable-web-security"]);
    for (attempt, outcome) in &attempts {
        assert!(matches!(outcome.as_str(), Some("blocked" | "opaque" | "read 403")), "{attempt}: {outcome}");
    }
    assert!(attempts.iter().any(|(_, outcome)| outcome == "read 403"), "{attempts:#?}");
}

/// Opens the page in a browser, checks that it had no effect, and returns the outcome of each attempt.
fn visited(flags: &[&str]) -> Vec<(String, Value)> {
    let fixture = fixture();
    fixture.script(HELD);
    hold(&fixture);
    let server = serve(&fixture);
    let path = server.begin("go");
    await_held(&fixture);
    let known = json!({ "target": format!("http://{}", server.http.address()), "token": server.token, "path": path });
    let (port, reports) = host(PAGE.replace("KNOWN", &known.to_string()));
    // A foreign host name that resolves to this machine.
    let browser = Browser::show(&format!("http://evil.test:{port}/"), flags);
    let report = reports.recv_timeout(PATIENCE).unwrap();
    drop(browser);

    // Nothing was created, sent, stopped or removed.
    assert_eq!(server.http.request_ok("GET", "/v1/sessions", None)["total"], 1);
    assert_eq!(server.http.request_ok("GET", &path, None)["state"]["type"], "running");
    release(&fixture);
    server.await_state(&path, "idle");
    let log = fixture.log(&fixture.newest());
    assert!(!log.iter().any(|event| format!("{event:?}").contains("smuggled")));
    let Value::Object(attempts) = report else { panic!("{report}") };
    assert_eq!(attempts.len(), 11, "{attempts:#?}");
    attempts.into_iter().collect()
}

#[test]
fn rebound_host_name_is_refused() {
    let fixture = fixture();
    fixture.script(HELD);
    let server = serve(&fixture);
    let port = server.http.address().rsplit(':').next().unwrap();
    let profile = tempfile::tempdir().unwrap();
    let mut command = Browser::command(&format!("http://evil.test:{port}/v1"), &profile);
    let shown = command.arg("--dump-dom").output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.contains("the host is not this server"), "{shown}");
}

/// A browser that is closed when it is dropped.
struct Browser {
    child: Child,
    _profile: TempDir,
}

impl Browser {
    fn show(url: &str, flags: &[&str]) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let mut command = Browser::command(url, &profile);
        let child = command.args(flags).arg("--remote-debugging-port=0").spawn();
        let child = child.unwrap_or_else(|error| panic!("chromium: {error}; `cargo xtask web` installs it"));
        Browser { child, _profile: profile }
    }

    fn command(url: &str, profile: &TempDir) -> Command {
        let mut command = Command::new("chromium");
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--host-resolver-rules=MAP evil.test 127.0.0.1",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.stdin(Stdio::null()).stderr(Stdio::null()).arg(url);
        command
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().unwrap();
    }
}

/// Serves the page; returns the port and the reports of the page.
fn host(page: String) -> (u16, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (report, reports) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (page, report) = (page.clone(), report.clone());
            // A browser also opens connections without a request.
            thread::spawn(move || {
                if let Some(output) = serve_page(stream.unwrap(), &page) {
                    report.send(output).ok();
                }
            });
        }
    });
    (port, reports)
}

fn serve_page(stream: TcpStream, page: &str) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let answer = format!("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{page}", page.len());
    reader.get_mut().write_all(answer.as_bytes()).ok()?;
    head.starts_with("POST /report").then(|| serde_json::from_slice(&body).unwrap())
}
