//! `shell` on real processes.

use std::fs;
use std::time::{Duration, Instant};

use bosun_tools::{ShellCommand, ToolLimits, follow, launch};
use host::{ExitStatus, Spool};
use serde_json::json;

use crate::fixture::Agent;

async fn sh(agent: &Agent, command: &str) -> String {
    agent.done("shell", json!({ "command": command })).await
}

#[tokio::test]
async fn output_is_merged_and_a_failure_is_reported() {
    let agent = Agent::new();
    assert_eq!(sh(&agent, "echo out; echo err >&2; echo out").await, "out\nerr\nout\n");
    assert_eq!(sh(&agent, "true").await, "[no output]");
    assert_eq!(sh(&agent, "printf x; exit 3").await, "x\n[exit code 3]");
    assert_eq!(sh(&agent, "kill -9 $$").await, "[killed by signal 9]");
    assert_eq!(sh(&agent, "cat; echo end").await, "end\n");
    assert_eq!(sh(&agent, "printf '\\033[31mred\\033[0m\\n10%%\\r100%%\\n'").await, "red\n100%\n");
    assert_eq!(sh(&agent, "printf 'caf\\351\\n'").await, "caf\u{fffd}\n");
    assert!(sh(&agent, "no-such-program").await.ends_with("[exit code 127]"));
    assert_eq!(sh(&agent, "exec >&- 2>&-; sleep 0.1; exit 4").await, "[exit code 4]");
    assert_eq!(sh(&agent, "yes | head -n 1").await, "y\n");
}

#[tokio::test]
async fn command_runs_in_the_workspace_with_the_given_environment() {
    let agent = Agent::new();
    sh(&agent, "echo hi > made.txt").await;
    assert_eq!(agent.text("made.txt"), "hi\n");
    assert_eq!(sh(&agent, "echo ${HOME-none}").await, "none\n");
}

#[tokio::test]
async fn command_that_cannot_start_is_refused() {
    let agent = Agent::new();
    assert!(agent.refused("shell", json!({ "command": "  " })).await.contains("empty"));
    assert!(agent.refused("shell", json!({ "command": "a\0b" })).await.contains("NUL"));
    let long = format!("true {}", "x".repeat(200_000));
    assert!(agent.refused("shell", json!({ "command": long })).await.contains("too long"));
    fs::remove_dir_all(agent.path("")).unwrap();
    assert!(agent.refused("shell", json!({ "command": "echo hi" })).await.contains("does not exist"));
}

#[tokio::test]
async fn endless_output_uses_bounded_memory() {
    let agent = Agent::new();
    let before = resident();
    let text = sh(&agent, "yes | head -c 1G; echo; echo done").await;
    assert!(text.starts_with("y\ny\n") && text.ends_with("y\n\ndone\n"), "{}", &text[text.len() - 100..]);
    assert!(text.contains("bytes left out"), "{text}");
    let grown = resident().saturating_sub(before);
    // Other tests run at the same time; the output alone would be 1024 MiB.
    assert!(grown < 256 * 1024, "{grown} KiB");
}

/// The memory of this process in KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed_with_its_tree() {
    let agent = Agent::new();
    let input = json!({ "command": "echo start; setsid sleep 300 & echo $! > pid; sleep 300", "timeout_secs": 1 });
    let text = agent.done("shell", input).await;
    assert!(text.starts_with("start\n[timed out after 1 s"), "{text}");
    assert!(is_gone(&agent.text("pid")));
    let short = Agent::with(ToolLimits { max_shell_timeout: Duration::from_millis(300), ..ToolLimits::default() });
    let text = short.done("shell", json!({ "command": "sleep 300", "timeout_secs": 400 })).await;
    assert!(text.contains("timed out"), "{text}");
}

#[tokio::test]
async fn cancelled_call_returns_its_output_so_far() {
    let agent = Agent::new();
    let call = sh(&agent, "trap '' TERM; echo start; echo $$ > pid; while :; do sleep 1; done");
    let cancel = async {
        wait_for(|| fs::read_to_string(agent.path("pid")).is_ok_and(|pid| pid.ends_with('\n'))).await;
        agent.cx.cancel.cancel();
    };
    let (text, ()) = tokio::join!(call, cancel);
    assert_eq!(text, "start\n[cancelled, and killed with everything it started]");
    assert!(is_gone(&agent.text("pid")));
}

#[tokio::test]
async fn a_dropped_call_leaves_nothing_running() {
    let agent = Agent::new();
    tokio::select! {
        _ = sh(&agent, "echo $$ > pid; sleep 300") => unreachable!(),
        () = wait_for(|| fs::read_to_string(agent.path("pid")).is_ok_and(|pid| pid.ends_with('\n'))) => {}
    }
    let pid = agent.text("pid");
    wait_for(|| is_gone(&pid)).await;
}

#[tokio::test]
async fn processes_left_behind_are_killed_and_mentioned() {
    let agent = Agent::new();
    let started = Instant::now();
    let text = sh(&agent, "sleep 300 & echo $! > pid; echo done").await;
    assert_eq!(text, "done\n[left behind and killed: 1 processes; to keep processes running use `background`]");
    assert!(is_gone(&agent.text("pid")));
    assert!(started.elapsed() < Duration::from_secs(60));
}

/// Whether the process is gone, or ended but not reaped.
fn is_gone(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

/// Waits until the condition holds.
async fn wait_for(so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !so() {
        assert!(Instant::now() < deadline, "it never came to be");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn command_output_is_copied_into_a_spool() {
    let agent = Agent::new();
    let folder = agent.path("spool");
    let mut spool = Spool::create(&folder, 3000).unwrap();
    let (cwd, env) = (agent.cx.workspace.cwd(), &agent.cx.env);
    let command = ShellCommand { command: "seq 100000; exit 7", cwd, env, memory_bytes: None };
    let mut process = launch(&agent.cx.guardian, command).await.unwrap();
    let exit = follow(&mut process, |bytes| spool.write(bytes).unwrap()).await.unwrap();
    assert_eq!(exit.status, ExitStatus::Code(7));
    let text = Spool::read(&folder, 1000).unwrap().into_string();
    assert!(text.starts_with("1\n2\n") && text.ends_with("99999\n100000\n"), "{text}");
}
